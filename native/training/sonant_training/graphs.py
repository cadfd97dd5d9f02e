"""A whole training step recorded as a CUDA graph: thousands of small kernels cost the host one call."""
from __future__ import annotations

import torch


class Graphed:
    """Records a whole training step as a CUDA graph; falls back to running it directly."""

    def __init__(self, fn, warm=3, use=True, say=print, pool=None):
        self.fn, self.graph = fn, None
        for _ in range(warm):
            self.out = fn()
        if not use:
            return
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    fn()
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.out = fn()
            self.graph = graph
        except Exception as e:
            say("graph capture failed, running directly:", type(e).__name__, str(e)[:300])
            torch.cuda.synchronize()

    def __call__(self):
        if self.graph is None:
            self.out = self.fn()
        else:
            self.graph.replay()
        return self.out
