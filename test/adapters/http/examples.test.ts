import { expect } from 'chai';
import { z } from 'zod';
import { openApiDocument } from '../../../adapters/http/openapi.js';
import { route } from '../../../adapters/http/route.js';

const documentOf = (body: z.ZodObject) =>
  openApiDocument(
    [
      route({
        method: 'POST',
        path: '/things',
        access: { kind: 'public' },
        body,
        failure: 'internal_error',
        operation: {
          operationId: 'makeThing',
          summary: 'Make a thing',
          tags: ['cards'],
          responses: { 204: { description: 'Made.', schema: null } },
          errors: [],
        },
        handle: () => Promise.resolve({ status: 204, body: {} }),
      }),
    ],
    'https://cards.example',
  );

describe('the OpenAPI document', () => {
  it('can’t be made if an example breaks its schema', () => {
    const name = z.string().max(3);
    expect(documentOf(z.object({ name: name.meta({ examples: ['Ada'] }) }))).to.have.property('openapi');
    expect(() => documentOf(z.object({ name: name.meta({ examples: ['Adaline'] }) }))).to.throw(
      'must NOT have more than 3 characters',
    );
    const part = z.object({ name }).meta({ id: 'Part', examples: [{ name: 5 }] });
    expect(() => documentOf(z.object({ part }))).to.throw('must be string');
  });
});
