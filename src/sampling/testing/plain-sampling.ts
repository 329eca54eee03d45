/** Sampling in its plainest form: the model's own distribution, nothing added, nothing cut. */
import type { SamplerParameters } from "../sampler.ts";

export const plainSampling: SamplerParameters = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  logitBias: [],
  seed: 7,
};
