import { expect } from 'chai';
import fc from 'fast-check';
import { capture } from '../../domain/errors.js';
import {
  addressPart,
  doesNotFit,
  readCountry,
  readState,
  stateNamed,
  readZip,
  withinUs,
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

/** What was read, or the code of the refusal. */
const outcome = (read: () => unknown): unknown => {
  const result = capture(read);
  return 'refusal' in result ? result.refusal.code : result.value;
};

describe('a part of an address', () => {
  it('is refused unless it is one line of at most 200 characters, counted in form NFC', () => {
    expect(addressPart(' Jose\u0301\u200b ')).to.equal('José');
    expect(addressPart('e\u0301'.repeat(200))).to.equal('é'.repeat(200));
    for (const part of ['a'.repeat(201), 'a\nb', 'a\tb', 'a\u2028b'])
      expect(
        outcome(() => addressPart(part)),
        JSON.stringify(part),
      ).to.equal('invalid_recipient');
  });

  it('is null if it has only spaces and invisible characters', () => {
    for (const read of [addressPart, readState, readZip, readCountry])
      expect(read(' \u200b\u202e ')).to.equal(null);
  });
});

describe('the state of an address', () => {
  it('may be one of the 50 states, DC, a territory or a military state', () => {
    expect(states.size).to.equal(62);
    for (const state of ['AL', 'WY', 'DC', 'AS', 'GU', 'MH', 'FM', 'MP', 'PW', 'PR', 'VI', 'AA', 'AE', 'AP'])
      expect(readState(state)).to.equal(state);
  });

  it('is stored in upper case', () => {
    for (const state of ['ny', 'Ny', ' nY ']) expect(readState(state)).to.equal('NY');
  });

  it('is refused unless it is one of those 62 codes', () => {
    for (const state of ['XX', 'New York', 'N', 'NYC', 'N.Y.', 'N Y', 'ſc', 'ON', 'UM', '12'])
      expect(
        outcome(() => readState(state)),
        state,
      ).to.equal('invalid_recipient');
  });
});

describe('the name of a state', () => {
  it('is that of each state, in any case', () => {
    expect(stateNamed('Illinois')).to.equal('IL');
    for (const name of ['Virgin Islands', 'U.S. Virgin Islands', 'us virgin islands'])
      expect(stateNamed(name)).to.equal('VI');
    for (const name of ['IL', 'Ontario', '']) expect(stateNamed(name)).to.equal(null);
  });
});

describe('the ZIP of an address', () => {
  it('has five digits, or nine that are stored with a hyphen', () => {
    for (const zip of ['12207', '00501', '12207-1234']) expect(readZip(zip)).to.equal(zip);
    expect(readZip('122071234')).to.equal('12207-1234');
    expect(readZip(' 122071234 ')).to.equal('12207-1234');
  });

  it('is refused unless it has five or nine digits', () => {
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
      expect(
        outcome(() => readZip(zip)),
        zip,
      ).to.equal('invalid_recipient');
  });
});

describe('the country of an address', () => {
  it('is stored as US from “US”, “USA” or “United States” in any case', () => {
    for (const country of ['US', 'us', 'USA', 'Usa', 'United States', 'UNITED STATES', ' united states '])
      expect(readCountry(country)).to.equal('US');
  });

  it('is a territory that shops send as one, until its state is known', () => {
    expect(readCountry('pr')).to.equal('PR');
    expect(withinUs({ state: 'PR', country: 'PR' }, 'address')).to.deep.equal({ state: 'PR', country: 'US' });
    expect(withinUs({ state: null, country: 'PR' }, 'address')).to.deep.equal({ state: 'PR', country: 'US' });
    expect(withinUs({ state: 'PR', country: 'US' }, 'address')).to.deep.equal({ state: 'PR', country: 'US' });
    expect(outcome(() => withinUs({ state: 'TX', country: 'PR' }, 'address'))).to.equal('invalid_recipient');
  });

  it('is refused unless it is the US', () => {
    for (const country of [
      'CA',
      'U.S.',
      'United States of America',
      'UnitedStates',
      'America',
      'uſ',
      'Canada',
    ])
      expect(
        outcome(() => readCountry(country)),
        country,
      ).to.equal('invalid_recipient');
  });
});

describe('an envelope', () => {
  it('has room for a name of 40 characters and lines of 50', () => {
    expect(
      doesNotFit({
        ...ann,
        name: '😀'.repeat(40),
        line1: 'a'.repeat(50),
        line2: 'a'.repeat(50),
        city: '😀'.repeat(41),
      }),
    ).to.equal(null);
    expect(doesNotFit({ ...ann, line2: null })).to.equal(null);
  });

  it('has no room for longer names and lines, and the reason names each with its length', () => {
    expect(doesNotFit({ ...ann, name: 'a'.repeat(41) })).to.equal(
      "The recipient's name does not fit the envelope: it has 41 characters, and there is room for 40",
    );
    expect(doesNotFit({ ...ann, line1: '😀'.repeat(51) })).to.equal(
      "The recipient's line1 does not fit the envelope: it has 51 characters, and there is room for 50",
    );
    expect(doesNotFit({ ...ann, line1: 'a'.repeat(51), line2: 'a'.repeat(200) })).to.equal(
      "The recipient's line1 does not fit the envelope: it has 51 characters, and there is room for 50; line2 does not fit the envelope: it has 200 characters, and there is room for 50",
    );
    expect(doesNotFit({ ...ann, city: 'a'.repeat(42) })).to.equal(
      "The recipient's last line (city, state and ZIP code) does not fit the envelope: it has 51 characters, and there is room for 50",
    );
    expect(doesNotFit({ ...ann, city: 'a'.repeat(37), zip: '12207-1234' })).to.match(/: it has 51 /);
  });
});

describe('the unwritable characters of an address', () => {
  it('are listed once each, in the order of the envelope', () => {
    expect(unwritableInAddress(ann)).to.deep.equal([]);
    expect(unwritableInAddress({ ...ann, line2: null })).to.deep.equal([]);
    expect(
      unwritableInAddress({ ...ann, name: '李 Ann', line1: '1 Мain', line2: '李', city: 'Æbany \ud83d' }),
    ).to.deep.equal(['李', 'М', '\ud83d']);
  });

  it('are none if the address uses only characters that the pen writes', () =>
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ09 .-#éñßŁ’—') }), (text) => {
        expect(
          unwritableInAddress({ ...ann, name: text, line1: text, line2: text, city: text }),
        ).to.deep.equal([]);
      }),
    ));
});
