import { expect } from 'chai';
import { z } from 'zod';
import { route } from '../../../../adapters/http/server/route.js';
import { resourcesOf } from '../../../../adapters/http/server/server.js';

const thing = z.object({ name: z.string() }).meta({ id: 'Thing' });
const get = (path: string, schema: z.ZodType) =>
  route(`GET ${path}`, {
    id: `get ${path}`,
    summary: 'Get a thing',
    access: { kind: 'public' },
    tags: ['cards'],
    answers: { 200: schema },
    handle: () => Promise.resolve({ status: 200, body: {} }),
  });

describe('a table of routes', () => {
  it('is taken with a schema that several routes share', () => {
    expect(resourcesOf([get('/one', thing), get('/other', z.array(thing))])).to.have.length(2);
  });

  it('is refused with two schemas of one id, wherever they stand', () => {
    const other = z.object({ age: z.int() }).meta({ id: 'Thing' });
    for (const schema of [other, z.array(other), z.object({ things: z.array(other).nullable() })])
      expect(() => resourcesOf([get('/one', thing), get('/other', schema)])).to.throw('the id Thing');
  });

  it('is refused with two routes of one path and method', () => {
    expect(() => resourcesOf([get('/one', thing), get('/one', thing)])).to.throw('declared twice');
  });
});
