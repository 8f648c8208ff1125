import { expect } from 'chai';
import fc from 'fast-check';
import { capture } from '../../domain/errors.js';
import {
  AddressParts,
  doesNotFit,
  parseAddressParts,
  parseRecipient,
  Recipient,
  states,
  unwritableInAddress,
} from '../../domain/recipient.js';

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
const outcome = (parse: () => unknown): unknown => {
  const result = capture(parse);
  return 'refusal' in result ? { code: result.refusal.code, param: result.refusal.param } : result.value;
};
const read = (value: unknown): unknown => outcome(() => parseRecipient(value));
const refused = (param: string): unknown => ({ code: 'invalid_recipient', param });
const messageOf = (parse: () => unknown): string => {
  const result = capture(parse);
  return 'refusal' in result ? result.refusal.message : '';
};

describe('a recipient', () => {
  it('is read as it is', () => {
    expect(read(ann)).to.deep.equal(ann);
    expect(Recipient.parse(ann)).to.deep.equal(ann);
  });

  it('has no second line and lives in the US where nothing else is said', () => {
    const { line2: _, country: __, ...short } = ann;
    for (const rest of [{}, { line2: null, country: null }, { line2: ' ', country: '' }])
      expect(read({ ...short, ...rest })).to.deep.equal({ ...ann, line2: null });
  });

  it('keeps no field that is not known', () =>
    expect(read({ ...ann, email: 'ann@example.com', planet: 'Earth' })).to.deep.equal(ann));

  it('needs every required field', () => {
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

  it('has strings as fields', () => {
    for (const field of Object.keys(ann))
      for (const value of [7, true, {}, ['x']])
        expect(read({ ...ann, [field]: value }), `${field} ${JSON.stringify(value)}`).to.deep.equal(
          refused(`recipient.${field}`),
        );
  });

  it('is refused at the first field that is wrong, in the order of the table', () => {
    const wrong = ['name', 'line1', 'line2', 'city', 'state', 'zip', 'country'];
    for (const [index, field] of wrong.entries())
      expect(
        read({ ...ann, ...Object.fromEntries(wrong.slice(index).map((each) => [each, 7])) }),
      ).to.deep.equal(refused(`recipient.${field}`));
  });

  it('is one: anything but an object is refused, and the message says one card a request', () => {
    for (const value of [undefined, null, 'Ann Lee, 1 Main St', '', 7, false, [], [ann, ann]]) {
      expect(read(value), JSON.stringify(value)).to.deep.equal(refused('recipient'));
      expect(messageOf(() => parseRecipient(value))).to.contain('one card a request');
    }
  });

  it('reads no field from a prototype', () =>
    expect(read(Object.create(ann))).to.deep.equal(refused('recipient.name')));

  it('loses zero-width and bidi characters first and is trimmed then', () =>
    expect(read({ ...ann, name: '\u200b Ann\u200d Lee \u202e\n', zip: '\ufeff12207\t' })).to.deep.equal(ann));

  it('has no line break or control character inside', () => {
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

  it('has fields of up to 200 characters', () => {
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

  it('costs little time to refuse, whatever it is made of', () => {
    const before = process.cpuUsage();
    expect(read({ ...ann, name: `a${'\u0300'.repeat(50_000)}${'\u0327'.repeat(50_000)}` })).to.deep.equal(
      refused('recipient.name'),
    );
    expect(process.cpuUsage(before).user / 1000).to.be.below(300);
  });

  it('is NFC, which the pen writes', () =>
    expect(read({ ...ann, name: 'Jose\u0301 Nun\u0303ez' })).to.deep.equal({ ...ann, name: 'José Nuñez' }));
});

describe('the state of a recipient', () => {
  it('is one of the 50, DC, the territories and the military ones', () => {
    expect(states.size).to.equal(62);
    for (const state of ['AL', 'WY', 'DC', 'AS', 'GU', 'MH', 'FM', 'MP', 'PW', 'PR', 'VI', 'AA', 'AE', 'AP'])
      expect(read({ ...ann, state })).to.deep.equal({ ...ann, state });
  });

  it('is upper-cased', () => {
    for (const state of ['ny', 'Ny', ' nY ']) expect(read({ ...ann, state })).to.deep.equal(ann);
  });

  it('is nothing else', () => {
    for (const state of ['XX', 'New York', 'N', 'NYC', 'N.Y.', 'N Y', 'ſc', 'ON', 'UM', '12'])
      expect(read({ ...ann, state }), state).to.deep.equal(refused('recipient.state'));
  });
});

describe('the ZIP of a recipient', () => {
  it('is five digits, or nine that are stored with a hyphen', () => {
    for (const zip of ['12207', '00501', '12207-1234'])
      expect(read({ ...ann, zip })).to.deep.equal({ ...ann, zip });
    expect(read({ ...ann, zip: '122071234' })).to.deep.equal({ ...ann, zip: '12207-1234' });
    expect(read({ ...ann, zip: ' 122071234 ' })).to.deep.equal({ ...ann, zip: '12207-1234' });
  });

  it('is nothing else', () => {
    for (const zip of [
      '1220',
      '122070',
      '12207-',
      '12207-123',
      '12207-12345',
      '12207 1234',
      '12207--1234',
      '1220A',
      '１２２０７',
      'K1A 0B6',
      '-12207',
    ])
      expect(read({ ...ann, zip }), zip).to.deep.equal(refused('recipient.zip'));
  });

  it('is refused as a number, which loses leading zeros', () => {
    expect(read({ ...ann, zip: 12207 })).to.deep.equal(refused('recipient.zip'));
    expect(messageOf(() => parseRecipient({ ...ann, zip: 501 }))).to.contain('leading zeros');
  });

  it('need not belong to the state', () =>
    expect(read({ ...ann, state: 'CA' })).to.deep.equal({ ...ann, state: 'CA' }));
});

describe('the country of a recipient', () => {
  it('is the US, by any of its names in any case', () => {
    for (const country of ['US', 'us', 'USA', 'Usa', 'United States', 'UNITED STATES', ' united states '])
      expect(read({ ...ann, country })).to.deep.equal(ann);
  });

  it('is nothing else', () => {
    for (const country of [
      'CA',
      'U.S.',
      'United States of America',
      'UnitedStates',
      'America',
      'uſ',
      'Canada',
    ])
      expect(read({ ...ann, country }), country).to.deep.equal(refused('recipient.country'));
  });
});

describe('the address of a contact', () => {
  const none = { line1: null, line2: null, city: null, state: null, zip: null, country: 'US' };
  const parts = (value: unknown): unknown => outcome(() => parseAddressParts(value));
  const { name: _, ...whole } = ann;

  it('may be whole, partial or absent', () => {
    expect(parts(whole)).to.deep.equal(whole);
    expect(parts({ city: ' Albany ', state: 'ny', zip: '122071234', country: 'usa' })).to.deep.equal({
      ...none,
      city: 'Albany',
      state: 'NY',
      zip: '12207-1234',
    });
    for (const value of [undefined, null, {}, { line1: null, state: '', zip: ' ', country: '' }])
      expect(parts(value)).to.deep.equal(none);
    expect(AddressParts.parse(none)).to.deep.equal(none);
  });

  it('has the rules of a recipient for every part that is sent', () => {
    const wrong: [string, unknown][] = [
      ['line1', 'a\nb'], ['line1', 'a'.repeat(201)], ['line2', 7], ['line2', 'a\tb'], ['city', {}], ['city', 'a'.repeat(201)], ['state', 'XX'], ['state', 1], ['zip', '1220'], ['zip', 12207],
      ['country', 'CA'], ['country', true],
    ]; // prettier-ignore
    for (const [part, value] of wrong)
      expect(parts({ [part]: value }), `${part} ${JSON.stringify(value)}`).to.deep.equal(
        refused(`address.${part}`),
      );
  });

  it('is an object', () => {
    for (const value of ['1 Main St', '', 7, true, [], [whole]])
      expect(parts(value), JSON.stringify(value)).to.deep.equal(refused('address'));
  });
});

describe('an envelope', () => {
  it('has room for a name of 40 and lines of 50 characters', () => {
    expect(
      doesNotFit({
        ...ann,
        name: '😀'.repeat(40),
        line1: 'a'.repeat(50),
        line2: 'a'.repeat(50),
        city: 'a'.repeat(200),
      }),
    ).to.equal(null);
    expect(doesNotFit({ ...ann, line2: null })).to.equal(null);
  });

  it('has room for no more', () => {
    expect(doesNotFit({ ...ann, name: 'a'.repeat(41) })).to.equal(
      "The recipient's name does not fit the envelope: it has 41 characters, and there is room for 40",
    );
    expect(doesNotFit({ ...ann, line1: '😀'.repeat(51) })).to.equal(
      "The recipient's line1 does not fit the envelope: it has 51 characters, and there is room for 50",
    );
    expect(doesNotFit({ ...ann, line1: 'a'.repeat(51), line2: 'a'.repeat(200) })).to.equal(
      "The recipient's line1 does not fit the envelope: it has 51 characters, and there is room for 50; line2 does not fit the envelope: it has 200 characters, and there is room for 50",
    );
  });
});

describe('what the pen can’t write of an address', () => {
  it('is named once, in the order of the envelope', () => {
    expect(unwritableInAddress(ann)).to.deep.equal([]);
    expect(unwritableInAddress({ ...ann, line2: null })).to.deep.equal([]);
    expect(
      unwritableInAddress({ ...ann, name: '李 Ann', line1: '1 Мain', line2: '李', city: 'Æbany \ud83d' }),
    ).to.deep.equal(['李', 'М', '\ud83d']);
  });

  it('is nothing where an address uses the pen’s letters', () =>
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ09 .-#éñßŁ’—') }), (text) => {
        expect(
          unwritableInAddress({ ...ann, name: text, line1: text, line2: text, city: text }),
        ).to.deep.equal([]);
      }),
    ));
});
