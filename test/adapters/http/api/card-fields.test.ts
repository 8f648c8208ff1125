import { expect } from 'chai';
import { readCardFields } from '../../../../adapters/http/api/card-fields.js';
import { readReference } from '../../../../domain/card.js';
import type { Captured } from '../../../../domain/errors.js';

const outcome = <T>(field: Captured<T>) =>
  'value' in field ? field.value : `${field.refusal.code} ${field.refusal.param}`;

const read = (body: Record<string, unknown>) => {
  const { recipient, message, arriveOn, handwriting, designId, reference } = readCardFields(body);
  return [recipient, message, arriveOn, handwriting, designId, reference].map((field) =>
    outcome<unknown>(field),
  );
};

const recipient = {
  name: 'Ann',
  line1: '1 Main St',
  line2: null,
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  country: 'US',
};

describe('the fields of a card', () => {
  it('are all read, trimmed', () =>
    expect(
      read({
        recipient,
        message: ' Hi ',
        arrive_on: ' 2030-01-01 ',
        handwriting: ' Bo ',
        design_id: ' card:x ',
        reference: ' r ',
      }),
    ).to.deep.equal([recipient, 'Hi', '2030-01-01', 'Bo', 'card:x', 'r']));

  it('are null if they are left out or null, or refused if they are required', () => {
    const none = ['missing_message message', null, null, null, null];
    expect(read({ recipient })).to.deep.equal([recipient, ...none]);
    expect(
      read({
        recipient,
        message: null,
        arrive_on: null,
        handwriting: null,
        design_id: null,
        reference: null,
      }),
    ).to.deep.equal([recipient, ...none]);
    expect(read({})).to.deep.equal(['invalid_recipient recipient', ...none]);
  });

  it('are refused if they are blank, except the reference', () =>
    expect(
      read({ recipient, message: 'Hi', arrive_on: '', handwriting: ' ', design_id: '\t', reference: ' ' }),
    ).to.deep.equal([
      recipient,
      'Hi',
      'invalid_date arrive_on',
      'unknown_handwriting handwriting',
      'design_not_found design_id',
      null,
    ]));

  it('are refused with their own error codes if they have the wrong type', () => {
    for (const value of [5, true, {}, []])
      expect(
        read({ recipient, message: value, arrive_on: value, handwriting: value, design_id: value }).slice(1),
      ).to.deep.equal([
        'missing_message message',
        'invalid_date arrive_on',
        'unknown_handwriting handwriting',
        'design_not_found design_id',
        null,
      ]);
  });

  it('are refused with a date that does not exist', () => {
    for (const arrive_on of ['2026-02-30', '2026-03-20T00:00:00Z', '03/20/2026', 'soon'])
      expect(read({ recipient, message: 'Hi', arrive_on })[2], arrive_on).to.equal('invalid_date arrive_on');
  });
});

describe('the reference of a card', () => {
  const referenceOf = (reference: unknown) => read({ reference })[5];

  it('is cut at 40 characters', () => {
    expect(readReference('😀'.repeat(41))).to.equal('😀'.repeat(40));
    expect(referenceOf(`  ${'x'.repeat(45)}`)).to.equal('x'.repeat(40));
  });

  it('may be a number', () => expect([referenceOf(0), referenceOf(17.5)]).to.deep.equal(['0', '17.5']));

  it('is refused unless it is a string or a finite number', () => {
    for (const value of [true, {}, [], Infinity])
      expect(referenceOf(value)).to.equal('invalid_parameter reference');
  });
});
