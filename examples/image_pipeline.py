"""Images: a pipeline of filters over photographs of different sizes, from noise to a contact sheet.

    tasksim run examples/image_pipeline.py images=24 --workers 2
    tasksim simulate examples/image_pipeline.py images=500 --workers 16 --durations \\
        blur=20ms,edges=8ms,count=3ms,equalise=5ms,shrink=4ms

Each image is blurred, its edges are found, the brightness of all images is counted together, and
with that each is equalised and shrunk to its place on one sheet.
"""

import numpy as np
from scipy import ndimage

import tasksim
from tasksim import RW, R, Reduce, W

LEVELS = 256  # of brightness
THUMB = 64  # pixels of a side


@tasksim.kernel(parameters=lambda image: {"pixels": image.size})
def blur(smooth: W, image: R):
    """Take the noise away."""
    ndimage.gaussian_filter(image, sigma=3.0, output=smooth)


@tasksim.kernel(parameters=lambda smooth: {"pixels": smooth.size})
def edges(found: W, smooth: R):
    """Find where brightness changes."""
    ndimage.gaussian_gradient_magnitude(smooth, sigma=1.0, output=found)


@tasksim.kernel(parameters=lambda smooth: {"pixels": smooth.size})
def count(histogram: Reduce, smooth: R):
    """Count how many pixels have which brightness."""
    histogram += np.histogram(smooth, LEVELS, range=(0, 1))[0]


@tasksim.kernel(parameters=lambda smooth: {"pixels": smooth.size})
def equalise(smooth: RW, histogram: R):
    """Spread the brightness, so that all levels are as frequent over all images."""
    share = (np.cumsum(histogram) - histogram / 2) / histogram.sum()
    smooth[...] = share[np.clip(smooth * LEVELS, 0, LEVELS - 1).astype(np.int32)]


@tasksim.kernel(parameters=lambda smooth: {"pixels": smooth.size})
def shrink(thumb: W, smooth: R, found: R):
    """Draw the image with its edges, small."""
    for source, half in ((smooth, thumb[:, :THUMB]), (found, thumb[:, THUMB:])):
        rows = np.linspace(0, len(source), THUMB, endpoint=False).astype(int)
        columns = np.linspace(0, source.shape[1], THUMB, endpoint=False).astype(int)
        half[...] = np.add.reduceat(np.add.reduceat(source, rows), columns, axis=1)
        half /= half.max()


@tasksim.application("image-pipeline")
def image_pipeline(g, images=12, width=512, spread=2.0, seed=0):
    """Filter so many images, whose sides differ by up to a factor of spread."""
    sides = np.random.default_rng(seed).uniform(width / spread, width, (images, 2)).astype(int)
    shapes = [(max(height, THUMB), max(width, THUMB)) for height, width in sides.tolist()]
    image = g.arrays("image", shapes, "f4", initial=lambda rng, i: scene(rng, shapes[i]))
    smooth, found = g.arrays("smooth", shapes, "f4"), g.arrays("edges", shapes, "f4")
    histogram = g.array("histogram", LEVELS, "i8")
    sheet = g.cut("sheet", (images * THUMB, 2 * THUMB), images, "f4")
    for i in range(images):
        g.insert(blur, smooth[i], image[i])
        g.insert(count, histogram, smooth[i])
        g.insert(edges, found[i], smooth[i])
    for i in range(images):
        g.insert(equalise, smooth[i], histogram)
        g.insert(shrink, sheet[i], smooth[i], found[i])

    def error(results):
        pixels = sum(height * width for height, width in shapes)
        wrong = abs(results[histogram].sum() - pixels) / pixels
        brightness = np.concatenate([part.ravel() for part in results[smooth]])
        uneven = abs(np.mean(brightness) - 0.5)  # of brightness that is spread evenly
        return max(wrong, uneven, float(results[sheet].min() < 0))

    g.check(error, tolerance=1e-4, what="unevenness of brightness")


def scene(rng, shape):
    """Return a picture of discs, with noise."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    picture = np.full(shape, 0.1)
    for _ in range(8):
        row, column, radius = rng.uniform(0, 1, 3) * (*shape, min(shape) / 3)
        picture[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] += 0.1
    return (picture + rng.normal(0, 0.05, shape)).clip(0, 1)
