import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';
import { z } from 'zod';

const Question = z.object({ password: z.string(), known: z.array(z.string()) });

/** Of 4: would hold for more than 10^8 guesses. */
const enough = 3;

const zxcvbn = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  translations: english.translations,
});

/** Answers each question of a `judgingThread`. */
parentPort?.on('message', (question: unknown) => {
  const { password, known } = Question.parse(question);
  const { score, feedback } = zxcvbn.check(password, known);
  const why = ['This password would be guessed soon.', feedback.warning, ...feedback.suggestions];
  parentPort?.postMessage(score < enough ? why.filter(Boolean).join(' ') : null);
});
