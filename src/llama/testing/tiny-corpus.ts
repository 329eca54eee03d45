/**
 * The text from which the tiny vocabularies learn their pieces: enough English and code for
 * readable tokens, and enough other writing for tokens of several bytes and for tokens that end
 * in the middle of a character.
 */

const PROSE = `
The miller's daughter walked to the river before the sun had come over the hill. There was a
small boat at the end of the path, and in the boat there was a box that nobody had opened. She
looked at it for some time. Then she sat down on the stones and counted what she knew: the
river was high, the bridge was closed, and the letter had said to wait until the bells rang.
When the bells rang she opened the box. It held a lamp, a length of rope and a loaf of bread,
which was more than she had hoped for. "This is a test," said the old man from the other side
of the water. "It is not a hard one." She thought that every test was hard until it was over.
He asked her what the time was, and where the others were, and why she had not brought them.
They would come, she answered; they had only stopped to close the windows of the house.
Once upon a time there were three brothers who could not agree about anything at all. The first
wanted to go north, the second wanted to go south, and the third wanted to stay where they were.
The weather in the mountains changes quickly, so that people who live there carry a coat even
in summer. If the wind turns to the east, then it will rain before the evening. If it does not,
then the next day will be clear. Nothing about this is certain, but it is useful to know.
`;

const CODE = `
function total(values) {
  let sum = 0;
  for (const value of values) {
    sum = sum + value;
  }
  return sum;
}
def total(values):
    result = 0
    for value in values:
        result += value
    return result
if (index < length) { print("index", index); } else { return null; }
`;

const OTHER_WRITING = `
Der Müller geht über die Brücke; die Tür bleibt für heute geschlossen. Grüße!
L'été dernier, la rivière était très haute et le café était fermé. À bientôt.
El niño soñó con una montaña. ¿Qué será mañana?
Река была высокой, и мост был закрыт. Река, река.
Το ποτάμι ήταν ψηλό και η γέφυρα κλειστή.
河水很高，桥关了。河水很高。中文中文中文。
川の水は高く、橋は閉まっていた。日本語日本語。
강물이 높고 다리는 닫혔다.
😀😀😃😄 👍👍🏽 🎉🎉 ❤️❤️
`;

/** Line ends inside the prose are spaces: nothing there depends on where a line was broken. */
export const TINY_CORPUS = `${PROSE.trim().replaceAll("\n", " ")}\n${CODE}${OTHER_WRITING}`;

/** Words with the space in front of them, numbers, runs of signs, and white space. */
export function corpusWords(): string[] {
  return TINY_CORPUS.match(/ ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s/gu) ?? [];
}
