// The kernels as the models call them: everything here is queued on a stream, and every pointer is
// device memory. Results of a row depend neither on the other rows nor on how many there are.
// Failures of a launch throw Error("engine_failed").
#pragma once

#include "backend/cuda/attention.h"
#include "backend/cuda/draw.h"
#include "backend/cuda/outputs.h"
#include "backend/cuda/product.h"

namespace sonant::cuda {

// Throws Error("engine_failed") naming `what`, or std::bad_alloc when memory ran out.
void check(cudaError_t error, const char* what);

// Up to four copies of 4-byte words in one kernel, between page-locked host memory and the device's or within either; in a recorded
// work they cost less than copies of the runtime's.
struct Copy {
  const void* from = nullptr;
  void* to = nullptr;
  size_t words = 0;
};
struct Copies {
  Copy list[4];
};
void copy_words(cudaStream_t stream, const Copies& copies);

// Where rows lie that a large product takes: [m][padded k], zeros in the padding.
template <class T>
struct ProductRows {
  T* data = nullptr;
  int ld = 0;
};

// out(norm(x) w^T) for fp32 rows x [m][ld].
template <class T, class Out>
void multiply_normed(cudaStream_t stream, const PackedMatrix& w, const float* x, int ld, int m, const Norm& norm, ProductRows<T> scratch, const Out& out);
// out(y w^T) for m rows y that lie in fp32 rows x as vectors [k][patch]: value c of row r is value c * patch + r % patch of row
// r / patch of x.
template <class T, class Out>
void multiply_gathered(cudaStream_t stream, const PackedMatrix& w, const float* x, int ld, int m, int patch, ProductRows<T> scratch, const Out& out);
// out(x w^T); in bf16, ld is at least the padded k and the padding holds zeros.
template <class T, class Out>
void multiply(cudaStream_t stream, const PackedMatrix& w, const T* x, int ld, int m, const Out& out);

// Where the rows of a pass go and by how much they are turned: places [m], turns [m][pairs].
void place_rows(cudaStream_t stream, const Rows& rows, int m, const float* frequencies, int pairs, RowPlace* places, float2* turns);

// Attention of rows in tiles of up to `tiles.size` (at most kTileSize) rows; `n_tiles` of them when they are listed.
template <class T>
void attend(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, Tiles tiles, int n_tiles, const CacheLayout& layout, int layer, T* out, int ld_out);
// The same for rows at positions below a page.
template <class T>
void attend_short(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, const CacheLayout& layout, int layer, T* out, int ld_out);

template <class T>
void norm_rows(cudaStream_t stream, const float* x, int ld, int m, int n, const Norm& norm, T* out, int ld_out, const int* places);

// Rows of a table as fp32.
template <class T>
void expand_rows(cudaStream_t stream, const T* table, int m, int n, float* out, int ld);

// Rows of ids [m][1 + n_vq] to their embeddings' sum.
template <class T>
void embed_rows(cudaStream_t stream, const int* ids, int m, const Embedding<T>& embedding, float* x, int ldx);

// The local transformer's first two rows of each item: its sequence's hidden state, and the row that says "go on".
void begin_local(cudaStream_t stream, const FrameRef* items, int n, const float* hidden, const float* continue_row, int d, float* x, int ldx);
void decide(cudaStream_t stream, const DecideArgs& args);
template <class T>
void draw(cudaStream_t stream, const DrawArgs& args, int n);

// Sum of table rows and a bias for each frame: codes [m][ld_codes], tables [books][size][n], books in order.
void sum_codes(cudaStream_t stream, const int* codes, int ld_codes, const int* n_books, int m, const float* tables, int size, int n, const float* bias, float* out, int ld);
// `patch` rows of [size] become one vector [size][patch].
void join_rows(cudaStream_t stream, const float* in, int ld_in, int m, int size, int patch, float* out, int ld_out);

// One codebook of the residual quantiser: the entry nearest in angle to the projected residual, which then
// loses that entry's projection. 256 threads a row.
struct QuantiseArgs {
  float* residual;  // [m][ld], changed
  int ld, rvq, dim, size, book, n_books;
  const float *in_weight, *in_bias;    // [dim][rvq], [dim]
  const float *unit, *entries;         // [size][dim]
  const float *out_weight, *out_bias;  // [rvq][dim], [rvq]
  int* codes;                          // [m][n_books]
};
void quantise(cudaStream_t stream, const QuantiseArgs& args, int m);

}  // namespace sonant::cuda
