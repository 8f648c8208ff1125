import { expect } from 'chai';
import { acceptsGzip, preferredType } from '../../../../adapters/http/server/media-types.js';

describe('the type of a response', () => {
  const types = ['application/json', 'text/csv'] as const;
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[], 'application/json'],
    [['*/*'], 'application/json'],
    [['text/csv; charset=utf-8'], 'text/csv'],
    [['text/csv;charset="utf-8";q=0.2, application/json;q=0.1'], 'text/csv'],
    [['text/csv'], 'text/csv'],
    [['TEXT/CSV'], 'text/csv'],
    [['text/*'], 'text/csv'],
    [['text/csv;q=0.5, application/json'], 'application/json'],
    [['text/csv, application/json;q=0.9'], 'text/csv'],
    [['text/csv, */*;q=0.1'], 'text/csv'],
    [['image/png', 'text/csv'], 'text/csv'],
    [['image/png'], 'application/json'],
    [['text/csv;q=0'], 'application/json'],
    [['nonsense'], 'application/json'],
  ];
  for (const [accept, type] of cases)
    it(`is ${type} for the header ${accept.join(' and ') || '(none)'}`, () =>
      expect(preferredType(accept, types)).to.equal(type));
});

describe('a compressed response', () => {
  const cases = { gzip: true, 'br, GZIP;q=0.5': true, '*': true, 'gzip;q=0': false, br: false, '': false };
  for (const [sent, accepted] of Object.entries(cases))
    it(`is ${accepted ? '' : 'not '}accepted by ${sent || 'an empty header'}`, () =>
      expect(acceptsGzip({ 'accept-encoding': sent })).to.equal(accepted));

  it('is not accepted without the header', () => expect(acceptsGzip({})).to.equal(false));
});
