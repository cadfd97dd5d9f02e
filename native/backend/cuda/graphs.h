// Work on a stream that is recorded once for each key and then repeated as a whole, which costs the
// host one launch. What is recorded may depend on its key only.
#pragma once

#include <map>

#include "backend/cuda/kernels.h"

namespace sonant::cuda {

class Graphs {
 public:
  Graphs() = default;
  ~Graphs() { clear(); }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  template <class Work>
  void run(int key, cudaStream_t stream, const Work& work) {
#ifdef SONANT_CUDA_EMULATION
    (void)key, (void)stream;
    work();
#else
    prepare(key, stream, work);
    check(cudaGraphLaunch(graphs_.at(key), stream), "repeating its recorded work");
#endif
  }

  // Records what is not recorded yet, without doing it.
  template <class Work>
  void prepare([[maybe_unused]] int key, [[maybe_unused]] cudaStream_t stream, [[maybe_unused]] const Work& work) {
#ifndef SONANT_CUDA_EMULATION
    if (graphs_.contains(key)) return;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording its work");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "recording its work");
    cudaGraphExec_t ready = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "preparing its recorded work");
    graphs_.emplace(key, ready);
    check(cudaGraphUpload(ready, stream), "preparing its recorded work");
#endif
  }

  void clear() {
#ifndef SONANT_CUDA_EMULATION
    for (auto& [key, graph] : graphs_) cudaGraphExecDestroy(graph);
    graphs_.clear();
#endif
  }

 private:
#ifndef SONANT_CUDA_EMULATION
  std::map<int, cudaGraphExec_t> graphs_;
#endif
};

// The size of batch, at least n, that work is recorded for; the places between are filled up.
inline int bucket_of(int n, int most) {
  int size = 1;
  while (size < n) size += size < 8 ? size : size / 2 < 8 ? 8 : 1 << (31 - __builtin_clz(static_cast<unsigned>(size)) - 1);
  return size < most ? size : most;
}

// Calls use(size) for each of these sizes.
template <class Use>
void each_bucket(int most, const Use& use) {
  for (int n = 1; n <= most; n = bucket_of(n + 1, most)) {
    use(n);
    if (n == most) return;
  }
}

}  // namespace sonant::cuda
