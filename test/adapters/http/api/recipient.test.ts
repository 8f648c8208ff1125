import { expect } from 'chai';
import { readCardFields } from '../../../../adapters/http/api/card-fields.js';
import { capture } from '../../../../domain/errors.js';
import { readState, Recipient } from '../../../../domain/recipient.js';

const ann = {
  name: 'Ann Lee',
  line1: '1 Main St',
  line2: 'Apt 2',
  city: 'Albany',
  state: 'NY',
  zip: '12207',
  country: 'US',
} as const;

/** What was read, or code and field of the refusal. */
const read = (recipient: unknown): unknown => {
  const result = readCardFields({ recipient }).recipient;
  return 'refusal' in result ? { code: result.refusal.code, param: result.refusal.param } : result.value;
};
const refused = (param: string): unknown => ({ code: 'invalid_recipient', param });
const messageOf = (recipient: unknown): string => {
  const result = readCardFields({ recipient }).recipient;
  return 'refusal' in result ? result.refusal.message : '';
};

describe('a recipient', () => {
  it('is read unchanged if it is complete and clean', () => {
    expect(read(ann)).to.deep.equal(ann);
    expect(Recipient.parse(ann)).to.deep.equal(ann);
  });

  it('has no second line and is in the US by default', () => {
    const { line2: _, country: __, ...short } = ann;
    for (const rest of [{}, { line2: null, country: null }, { line2: ' ', country: '' }])
      expect(read({ ...short, ...rest })).to.deep.equal({ ...ann, line2: null });
  });

  it('loses unknown fields', () =>
    expect(read({ ...ann, email: 'ann@example.com', planet: 'Earth' })).to.deep.equal(ann));

  it('is refused without any of the required fields', () => {
    for (const field of ['name', 'line1', 'city', 'state', 'zip']) {
      const { [field]: _, ...rest } = ann as Record<string, unknown>;
      for (const value of [
        rest,
        { ...ann, [field]: null },
        { ...ann, [field]: '' },
        { ...ann, [field]: ' \t\n' },
        { ...ann, [field]: '\u200b \u202e' },
      ])
        expect(read(value), JSON.stringify(value)).to.deep.equal(refused(`recipient.${field}`));
    }
  });

  it('is refused if any of its fields is not a string', () => {
    for (const field of Object.keys(ann))
      for (const value of [7, true, {}, ['x']])
        expect(read({ ...ann, [field]: value }), `${field} ${JSON.stringify(value)}`).to.deep.equal(
          refused(`recipient.${field}`),
        );
  });

  it('is refused with the first wrong field, in the order of the schema', () => {
    const wrong = ['name', 'line1', 'line2', 'city', 'state', 'zip', 'country'];
    for (const [index, field] of wrong.entries())
      expect(
        read({ ...ann, ...Object.fromEntries(wrong.slice(index).map((each) => [each, 7])) }),
      ).to.deep.equal(refused(`recipient.${field}`));
  });

  it('is refused unless it is one object, and the message says one card per request', () => {
    for (const value of [undefined, null, 'Ann Lee, 1 Main St', '', 7, false, [], [ann, ann]]) {
      expect(read(value), JSON.stringify(value)).to.deep.equal(refused('recipient'));
      expect(messageOf(value)).to.contain('one card per request');
    }
  });

  it('has no field from a prototype', () =>
    expect(read(Object.create(ann))).to.deep.equal(refused('recipient.name')));

  it('is refused if its ZIP is a number, because numbers lose leading zeros', () => {
    expect(read({ ...ann, zip: 12207 })).to.deep.equal(refused('recipient.zip'));
    expect(messageOf({ ...ann, zip: 501 })).to.contain('leading zeros');
  });

  const meant = (state: string): string | null => {
    const found = capture(() => readState(state));
    return 'refusal' in found
      ? (/Did you mean `(..)`/.exec(found.refusal.message)?.[1] ?? null)
      : found.value;
  };
  for (const [state, code] of [
    ['Armed Forces (AE)', 'AE'],
    ['armed forces africa', 'AE'],
    ['Armed Forces Canada', 'AE'],
    ['Armed Forces Europe', 'AE'],
    ['Armed Forces Middle East', 'AE'],
    ['Armed Forces Europe (AE)', 'AE'],
    ['Armed Forces Americas', 'AA'],
    ['Armed Forces Pacific', 'AP'],
    ['Armed Forces Afrika', null],
    ['Armed Forces', null],
    ['A.P.', 'AP'],
    ['Canada', null],
    ['Canada (CA)', null],
    ['Mexico', null],
    ['India', null],
    ['Puerto Rico', 'PR'],
    ['Georgia', 'GA'],
    ['Guam (GU)', 'GU'],
    ['Land of Lincoln (IL)', 'IL'],
    ['Nevadda', 'NV'],
  ] as const)
    it(`${code === null ? 'has no state that is guessed from' : `is in ${code} if it was sent to`} ${state}`, () =>
      expect(meant(state)).to.equal(code));

  it('may have a ZIP that does not belong to its state', () =>
    expect(read({ ...ann, state: 'CA', zip: '10001' })).to.include({ state: 'CA', zip: '10001' }));
  it('loses zero-width and bidi characters first, and is then trimmed', () =>
    expect(read({ ...ann, name: '\u200b Ann\u200d Lee \u202e\n', zip: '\ufeff12207\t' })).to.deep.equal(ann));

  it('is refused if any of its fields has a line break or control character inside', () => {
    for (const character of [
      '\n',
      '\r\n',
      '\r',
      '\t',
      '\0',
      '\u001b',
      '\u007f',
      '\u0085',
      '\u2028',
      '\u2029',
    ])
      for (const field of Object.keys(ann))
        expect(
          read({ ...ann, [field]: `a${character}b` }),
          `${field} ${JSON.stringify(character)}`,
        ).to.deep.equal(refused(`recipient.${field}`));
  });

  it('may have fields of up to 200 characters', () => {
    for (const field of ['name', 'line1', 'line2', 'city']) {
      for (const text of ['a'.repeat(200), '😀'.repeat(200), `  ${'a'.repeat(200)}\u200b `])
        expect(read({ ...ann, [field]: text })).to.deep.equal({
          ...ann,
          [field]: text.replace(/[ \u200b]/g, ''),
        });
      for (const text of ['a'.repeat(201), '😀'.repeat(201), '\u0300'.repeat(100_000)])
        expect(read({ ...ann, [field]: text })).to.deep.equal(refused(`recipient.${field}`));
    }
  });

  it('is refused in little time, whatever it consists of', () => {
    const before = process.cpuUsage();
    expect(read({ ...ann, name: `a${'\u0300'.repeat(50_000)}${'\u0327'.repeat(50_000)}` })).to.deep.equal(
      refused('recipient.name'),
    );
    expect(process.cpuUsage(before).user / 1000).to.be.below(1_000);
  });

  it('is stored in Unicode form NFC, which the pen writes', () =>
    expect(read({ ...ann, name: 'Jose\u0301 Nun\u0303ez' })).to.deep.equal({ ...ann, name: 'José Nuñez' }));
});
