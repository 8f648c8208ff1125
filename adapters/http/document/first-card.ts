import type { DomainError } from '../../../domain/errors.js';
import { exampleMessage, exampleRecipient, readCardFields } from '../api/card-fields.js';
import { sentCard } from '../api/cards.js';
import { jsonSchemaOf } from '../schema/json-schema.js';
import { examples } from '../schema/shown.js';
import { exampleOf } from './samples.js';

/** The request of the first card. */
export const firstRequest = { recipient: exampleRecipient, message: exampleMessage };

/** The response to it: the example of the reference, with the address of this service. */
export const firstResponse = (baseUrl: string): object =>
  Object.assign({}, exampleOf(jsonSchemaOf(sentCard), 'left out'), {
    reference: null,
    url: `${baseUrl}/cards/${examples.card}`,
  });

/** How it is refused if its ZIP code lacks a digit. */
export const firstRefusal = (): DomainError => {
  const mistyped = { ...exampleRecipient, zip: '6270' };
  const { recipient } = readCardFields({ ...firstRequest, recipient: mistyped });
  if (!('refusal' in recipient)) throw new Error('A ZIP code of four digits was taken.');
  return recipient.refusal;
};
