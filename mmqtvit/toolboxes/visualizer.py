"""mmengine's visualisers, drawing the same in less time."""

from typing import Any

import numpy as np


def reuse_axes(visualizer: Any) -> None:
    """Let a visualiser keep its axes from one image to the next, and draw each picture once.

    mmengine sets the axes up again for each image. With their ticks, grid and labels, none of which
    is shown, that takes longer than drawing on them.

    Args:
        visualizer (mmengine.visualization.Visualizer): Changed in place.
    """
    axes, render, add_image = visualizer.ax_save, visualizer.get_image, visualizer.ax_save.imshow

    def drawn() -> list:
        """What is there besides the image: masks are images too."""
        return [*axes.texts, *axes.patches, *axes.lines, *axes.collections, *axes.images[1:]]

    def cla() -> None:
        for artist in drawn():
            artist.remove()
        axes.relim()  # or earlier images would stretch the view
        axes.imshow = exchange_image if axes.images else add_image

    def exchange_image(image: np.ndarray, extent: tuple, **options: Any) -> None:
        axes.images[0].set_data(image)
        axes.images[0].set_extent(extent)
        axes.imshow = add_image

    axes.cla = cla
    visualizer.get_image = lambda: render() if drawn() else visualizer._image
