"""Imports PyTorch with functions bound when they are called, so that unused libraries may lack them."""

import os
import sys


def torch():
    """The module `torch`."""
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        import torch as module
    finally:
        sys.setdlopenflags(flags)
    return module
