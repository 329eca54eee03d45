/**
 * Which ending does the model find likeliest? The way in which multiple-choice questions are put to
 * base models: each ending is scored behind the sentence, and nothing is generated.
 *
 *   node examples/which-ending.js                              the default model, in this program
 *   node examples/which-ending.js ./my-model.gguf              a model of your own
 *   node examples/which-ending.js http://127.0.0.1:8080/v1     a server
 *
 * It needs Node.js 24 and, in a checkout, `npm run build` first. Where the machine's Node is older,
 * the checkout's is `node_modules/.bin/node`.
 */
import { connect, open } from "completionist";

const questions = [
  { sentence: "The capital of France is", endings: [" Paris.", " Berlin.", " a banana."] },
  { sentence: "Water freezes at zero degrees", endings: [" Celsius.", " Paris.", " o'clock."] },
];

const where = process.argv[2];
const remote = where !== undefined && /^https?:/.test(where);
await using client = remote ? connect({ baseUrl: where }) : await open({ model: where });

for (const { sentence, endings } of questions) {
  console.log(sentence);
  const likeliest = (await Promise.all(endings.map((ending) => rank(sentence, ending)))).sort(
    (a, b) => b.logprob - a.logprob,
  );
  for (const { ending, logprob } of likeliest) {
    console.log(`  ${logprob.toFixed(3).padStart(9)}  ${ending.trim()}`);
  }
}

/** The mean logprob of the ending's tokens: sums would favour short endings. */
async function rank(sentence, ending) {
  const { tokens } = await client.score(sentence + ending);
  const start = [...sentence].length;
  const logprobs = tokens.filter(({ offset }) => offset >= start).map(({ logprob }) => logprob);
  return { ending, logprob: logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length };
}
