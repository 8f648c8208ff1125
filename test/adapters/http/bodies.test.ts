import { expect } from 'chai';
import { newCard } from '../../../adapters/http/api/card-fields.js';
import { jsonSchemaOf } from '../../../adapters/http/schema/json-schema.js';
import type { Body } from '../../../adapters/http/schema/read.js';
import { capture } from '../../../domain/errors.js';
import { exampleFor, routes } from '../../support/http/operations.js';

/** What a good body is read as, but for some fields. */
const readWith = ({ schema, read }: Body, changes: object): string =>
  JSON.stringify(capture(() => read({ ...exampleFor(jsonSchemaOf(schema)), ...changes } as never)));

/** Whether something good is read as something else. */
const isRead = (body: Body, changes: object): boolean => {
  const read = readWith(body, changes);
  return !read.includes('"refusal"') && read !== readWith(body, {});
};

const { recipient } = exampleFor(jsonSchemaOf(newCard));
/** Each field accepts one of them, and few have it as their example. */
const values: readonly unknown[] = [
  null, 'Grace', false, true, 7, '2026-02-03', '1906-12-09', 'card:thank-you-simple', 'https://example.com/other',
  ['card.mailed'], ['Ada'], ['cards:read'], ['operator:audit'], 'grace@example.com', { ...(recipient as object), name: 'Grace' }, { city: 'Rome' },
]; // prettier-ignore

/** A hook reads its body itself, after its token, as the fields of a card. */
const withBody = routes.flatMap((route) =>
  route.body === null || route.access.kind === 'hook'
    ? []
    : [{ id: route.id, body: route.body, handle: String(Reflect.get(route, 'handle')) }],
);

describe('the body of an operation', () => {
  for (const { id, body } of withBody)
    it(`is read with every field that it declares: ${id}`, () => {
      for (const [field, { enum: choices = [] }] of Object.entries(
        jsonSchemaOf(body.schema).properties ?? {},
      )) {
        expect(readWith(body, { [field]: [{}] }), field).to.include('"refusal"');
        expect(
          [...values, ...choices].some((value) => isRead(body, { [field]: value })),
          field,
        ).to.equal(true);
      }
    });

  for (const { id, body, handle } of withBody)
    it(`is not declared with a field that its handler leaves: ${id}`, () => {
      const values = body.read(exampleFor(jsonSchemaOf(body.schema)) as never) as object;
      const declared = Object.keys(body.schema.shape);
      // A reader of its own gives names of its own, each by a type that must have it.
      if (Object.keys(values).some((name) => !declared.includes(name))) return;
      for (const field of declared) expect(handle).to.match(new RegExp(`\\b${field}\\b`));
    });
});
