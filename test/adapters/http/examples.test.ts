import { expect } from 'chai';
import { z } from 'zod';
import { openApiDocument } from '../../../adapters/http/document/openapi.js';
import { whole } from '../../../adapters/http/schema/read.js';
import { route } from '../../../adapters/http/server/route.js';
import { assertExamples } from '../../support/http/document-examples.js';

const documentOf = (body: z.ZodObject): { readonly components?: unknown; readonly paths?: unknown } =>
  openApiDocument(
    [
      route('POST /things', {
        id: 'makeThing',
        summary: 'Make a thing',
        access: { kind: 'public' },
        body: whole(body),
        tags: ['cards'],
        responses: { 204: { description: 'Made.', schema: null } },
        handle: () => Promise.resolve({ status: 204, body: {} }),
      }),
    ],
    'https://cards.example',
  );

describe('the check of the examples in an OpenAPI document', () => {
  it('finds an example that breaks its schema, in a field and in a part', () => {
    const name = z.string().max(3);
    assertExamples(documentOf(z.object({ name: name.meta({ examples: ['Ada'] }) })));
    expect(() =>
      assertExamples(documentOf(z.object({ name: name.meta({ examples: ['Adaline'] }) }))),
    ).to.throw('must NOT have more than 3 characters');
    const part = z.object({ name }).meta({ id: 'Part', examples: [{ name: 5 }] });
    expect(() => assertExamples(documentOf(z.object({ part })))).to.throw('must be string');
  });
});
