#include "backend/cuda/pack.h"

#include <string>

#include "model/convert.h"
#include "model/error.h"

namespace sonant::cuda {

namespace {

void convert(const std::vector<float>& from, std::vector<float>& to) { to = from; }
void convert(const std::vector<float>& from, std::vector<bf16>& to) {
  to.resize(from.size());
  f32_to_bf16(from.data(), from.size(), reinterpret_cast<std::byte*>(to.data()));
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

// The order of load_weights: tile of 16 outputs, block of 32 inputs, half, lane, 8 values. Lane 4 g + t holds
// outputs 2 g and 2 g + 1, and of each block inputs 8 t to 8 t + 7: the first four in the first half.
std::vector<bf16> pack(const float* rows, const PackedMatrix& w) {
  std::vector<bf16> out(static_cast<size_t>(w.tiles()) * w.blocks() * 2 * kWarp * 8);
  std::vector<bf16> narrow(static_cast<size_t>(w.n) * w.k);
  f32_to_bf16(rows, narrow.size(), reinterpret_cast<std::byte*>(narrow.data()));
  size_t at = 0;
  for (int tile = 0; tile < w.tiles(); tile++)
    for (int block = 0; block < w.blocks(); block++)
      for (int half = 0; half < 2; half++)
        for (int lane = 0; lane < kWarp; lane++)
          for (int pair = 0; pair < 2; pair++)
            for (int output = 0; output < 2; output++)
              for (int i = 0; i < 2; i++) {
                const int n = tile * kTileN + 2 * (lane / 4) + output, k = block * kBlockK + 8 * (lane % 4) + 4 * half + 2 * pair + i;
                out[at++] = n < w.n && k < w.k ? narrow[static_cast<size_t>(n) * w.k + k] : bf16{0};
              }
  return out;
}

DeviceBuffer<bf16> upload(const float* rows, const PackedMatrix& w, cudaStream_t stream, bf16) { return to_device(pack(rows, w), stream); }
DeviceBuffer<float> upload(const float* rows, const PackedMatrix& w, cudaStream_t stream, float) {
  return to_device(rows, static_cast<size_t>(w.n) * w.k, stream);
}

}  // namespace

template <class T>
Matrix<T>::Matrix(const float* rows, int n, int k, cudaStream_t stream, size_t& bytes) {
  if (n % 2) throw Error("unsupported", "The CUDA backend needs matrices with an even number of rows, not " + std::to_string(n) + ".");
  packed_ = {nullptr, n, k};
  data_ = upload(rows, packed_, stream, T{});
  packed_.data = data_.data();
  bytes += data_.bytes();
}

template <class T>
Matrix<T>::Matrix(const Tensor& tensor, cudaStream_t stream, size_t& bytes)
    : Matrix(floats(tensor).data(), static_cast<int>(tensor.rows()), static_cast<int>(tensor.cols()), stream, bytes) {}

template <class T>
DeviceBuffer<T> upload_table(const Tensor& tensor, cudaStream_t stream, size_t& bytes) {
  std::vector<T> values;
  convert(floats(tensor), values);
  bytes += values.size() * sizeof(T);
  return to_device(values, stream);
}

DeviceBuffer<float> upload_vector(const Tensor& tensor, cudaStream_t stream, size_t& bytes) {
  if (!tensor.data) return {};
  return upload_table<float>(tensor, stream, bytes);
}

template class Matrix<float>;
template class Matrix<bf16>;
template DeviceBuffer<float> upload_table<float>(const Tensor&, cudaStream_t, size_t&);
template DeviceBuffer<bf16> upload_table<bf16>(const Tensor&, cudaStream_t, size_t&);

}  // namespace sonant::cuda
