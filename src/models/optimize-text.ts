/**
 * The text by which `models optimize` judges a model when the user gives none: English prose and a
 * piece of code, written for this purpose, so that no model has read it before. Changing it changes
 * every figure that has been noted down.
 */
export const optimizeText = `The ferry to the island left twice a day, once in the grey hour before \
breakfast and once in the late afternoon, and anyone who missed the second boat had to find a bed in \
the harbour town. On the evening when Marta arrived the last boat was already a small light on the \
water. She put her bag down on the wet stones, counted the coins in her pocket and laughed, because \
she had run all the way from the station for nothing.

"You will want a room," said a man who was mending a net by the wall. He did not look up. "My sister \
has one above the bakery. It is warm, and it smells of bread from three o'clock on, so you will not \
need a clock."

The room was as he had promised. It had a narrow bed, a chair, a window that would not quite close, \
and a shelf with seven books that earlier guests had left behind. Marta took down the thickest of \
them, a history of lighthouses, and read until her eyes hurt. Every lighthouse, the book said, has a \
rhythm of its own: two short flashes and a pause, or one long flash every ten seconds, so that a \
sailor who sees nothing but a light in the dark can still tell where he is. Before electric lamps \
came into use, a keeper had to wind up a clockwork every four hours to keep the lens turning, and \
many of them kept a diary in which they wrote down the weather, the passing ships and, now and then, \
how lonely they were.

In the morning the rain had stopped. The baker gave her two rolls and refused to be paid. "You can \
bring me a letter from the island instead," she said. "My brother never answers when I write to him, \
but he may say something to a stranger." So Marta carried a message across the water, though she had \
never met the man it was meant for, and she thought about what it means to be trusted by someone who \
has known you for a single night.

Water boils at a lower temperature on a mountain than at the sea, because there is less air above it \
to press it down. For the same reason beans take longer to cook there, although the pot seems to boil \
just as hard. A lid with a weight on it solves the problem: it keeps the steam in, the pressure rises, \
and the water gets as hot as it would in the valley. The first such pot was shown in London in 1681. \
It is said that a bishop's dinner was cooked in it, bones and all, and that the bones came out as soft \
as cheese.

The council will meet on the first Tuesday of March to decide whether the old bridge should be \
repaired or replaced. Repairing it would cost about 2.4 million and close the road for five months; a \
new bridge would cost almost twice as much, but could be built beside the old one while traffic goes \
on. Shopkeepers on both sides of the river have asked for the second plan.

Below is a small Python module that counts how often each word of a text occurs.

import re
from collections import Counter
from pathlib import Path


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words; digits and punctuation are left out."""
    return re.findall(r"[a-z']+", text.lower())


def most_common_words(path: Path, count: int = 10) -> list[tuple[str, int]]:
    """Return the most common words of a file, the most frequent one first."""
    if count < 1:
        raise ValueError("count must be at least 1")
    text = path.read_text(encoding="utf-8")
    return Counter(words_of(text)).most_common(count)


def main() -> None:
    for word, number in most_common_words(Path("story.txt")):
        print(f"{number:6d}  {word}")


if __name__ == "__main__":
    main()
`;
