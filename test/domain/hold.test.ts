import { expect } from 'chai';
import { reasonToHold } from '../../domain/hold.js';

const recipient = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  line2: null,
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
  country: 'US' as const,
};
const plain = { recipient, message: 'Thank you,\nAda.', handwriting: 'Everyday', doNotMail: null };

describe('the reason to hold a card', () => {
  it('is null if the pen can write everything and the address fits the envelope', () => {
    expect(reasonToHold(plain)).to.equal(null);
    expect(reasonToHold({ ...plain, message: 'Žlutý kůň – “šťastnou cestu” … €' })).to.equal(null);
  });

  it('names the characters that the pen can’t write, and whether they are in the message or the address', () => {
    expect(reasonToHold({ ...plain, message: 'Great work 🎉' })).to.match(/message.*🎉|🎉.*message/);
    expect(reasonToHold({ ...plain, recipient: { ...recipient, name: 'Ада' } })).to.match(
      /address.*А|А.*address/,
    );
    expect(reasonToHold({ ...plain, recipient: { ...recipient, line2: 'Flat ☃' } })).to.contain('☃');
    expect(reasonToHold({ ...plain, message: 'a\tb' })).to.be.a('string');
  });

  it('names an address that does not fit the envelope', () => {
    expect(reasonToHold({ ...plain, recipient: { ...recipient, name: 'N'.repeat(41) } })).to.contain(
      'does not fit the envelope',
    );
    expect(reasonToHold({ ...plain, recipient: { ...recipient, line1: 'L'.repeat(51) } })).to.contain(
      'does not fit the envelope',
    );
    expect(reasonToHold({ ...plain, recipient: { ...recipient, line2: 'L'.repeat(51) } })).to.contain(
      'does not fit the envelope',
    );
    expect(
      reasonToHold({
        ...plain,
        recipient: {
          ...recipient,
          name: 'N'.repeat(40),
          line1: 'L'.repeat(50),
          line2: 'L'.repeat(50),
          city: 'C'.repeat(41),
        },
      }),
    ).to.equal(null);
    expect(reasonToHold({ ...plain, recipient: { ...recipient, city: 'C'.repeat(42) } })).to.equal(
      "The recipient's last line (city, state and ZIP code) does not fit the envelope: it has 51 characters, and there is room for 50",
    );
  });

  it('names the parts of an address that were not filled in', () => {
    const reasonFor = (more: object) => reasonToHold({ ...plain, recipient: { ...recipient, ...more } });
    const fields = [
      '{{name}}',
      '[[city]]',
      '*|FNAME|*',
      '<<Name>>',
      '«Name»',
      '${name}',
      '{{ customer.name }}',
    ];
    const nothing = ['undefined', 'UNDEFINED', 'null', 'Null', 'NaN', '[object Object]', 'undefined null'];
    for (const part of ['name', 'line1', 'line2', 'city'])
      for (const text of [...fields, ...nothing])
        expect(reasonFor({ [part]: text })).to.equal(`The recipient's ${part} was not filled in: ${text}`);
    expect(reasonFor({ name: 'Dear *|FNAME|* *|LNAME|*', line1: '{{line1}}' })).to.equal(
      "The recipient's name was not filled in: *|FNAME|*; line1 was not filled in: {{line1}}",
    );
    expect(reasonFor({ name: `{{${'n'.repeat(60)}}}` })).to.match(/: \{\{n{38}…/);
    for (const name of ['Ada Null', 'Nan', 'Nan Null', 'Undefined Ltd', '{Ada}', 'object Object'])
      expect(reasonFor({ name }), name).to.equal(null);
  });

  it('says how many lines a message takes that does not fit the card, and what to do', () => {
    const lines = (count: number) => Array.from({ length: count }, (_, n) => `Line ${n}`).join('\n');
    expect(reasonToHold({ ...plain, message: lines(24) })).to.equal(null);
    expect(reasonToHold({ ...plain, message: lines(31) })).to.equal(
      'The message takes 31 lines in this handwriting; the card has room for 24. Cancel the card and send it again with a shorter message, or wait for a person',
    );
    const wide = 'W'.repeat(500);
    expect(reasonToHold({ ...plain, message: wide })).to.equal(null);
    expect(reasonToHold({ ...plain, message: wide, handwriting: 'Signature' })).to.match(
      /^The message takes \d\d lines/,
    );
  });

  it('says that the recipient is on the do-not-mail list', () => {
    for (const doNotMail of ['listed', 'unclear', 'lost'] as const)
      expect(reasonToHold({ ...plain, doNotMail })).to.contain('do-not-mail');
  });

  it('lists all reasons if there are several', () => {
    const reasons = reasonToHold({
      message: 'Hi 🎉',
      handwriting: 'Everyday',
      doNotMail: 'listed',
      recipient: { ...recipient, name: 'Ада'.repeat(20) },
    });
    expect(reasons?.split('. ')).to.have.length(4);
  });
});
