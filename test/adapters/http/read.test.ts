import { expect } from 'chai';
import { readAll, readFields, readParameters, type JsonObject } from '../../../adapters/http/read.js';
import {
  flag,
  format,
  list,
  object,
  oneOf,
  optional,
  pageLimit,
  text,
  whole,
  type Schema,
} from '../../../adapters/http/schema.js';
import { capture } from '../../../domain/errors.js';
import { cardBody } from '../../support/http/http-routes.js';

const even = format('test-even', (value) => value.length % 2 === 0);

const read = <T extends object>(schema: Schema<T>, body: JsonObject): unknown => {
  const result = capture(() => readAll(schema, body));
  return 'refusal' in result ? [result.refusal.code, result.refusal.param] : result.value;
};

const recipient = { name: 'Ada', line1: '12 Way', state: 'IL', zip: '62701' };

describe('reading fields', () => {
  const schema = object({
    name: text({ maxLength: 3, code: 'missing_name' }),
    note: optional(text()),
    day: optional(text({ blank: 'refused', code: 'invalid_date' })),
    reference: optional(text({ number: 'text' })),
    even: optional(text({ format: even, hint: 'of even length' })),
    kind: optional(oneOf(['a', 'b'])),
    count: optional(whole({ minimum: 1 })),
    on: optional(flag()),
    tags: optional(list(oneOf(['x', 'y']), { code: 'invalid_events' })),
  });
  const nothing = {
    note: null,
    day: null,
    reference: null,
    even: null,
    kind: null,
    count: null,
    on: null,
    tags: null,
  };

  it('trims strings and takes null, blank and absent for the same', () => {
    expect(read(schema, { name: ' Ada\u00a0', note: ' \t ', reference: null })).to.deep.equal({
      ...nothing,
      name: 'Ada',
    });
  });
  it('leaves out what it does not know', () =>
    expect(read(schema, { name: 'Ada', other: 1, toString: 2 })).to.deep.equal({ ...nothing, name: 'Ada' }));
  it('does not see what an object inherits', () =>
    expect(read(object({ toString: optional(text()), constructor: optional(text()) }), {})).to.deep.equal({
      toString: null,
      constructor: null,
    }));
  it('takes a number for text only where that is said', () => {
    expect(read(schema, { name: 'Ada', reference: 1.5 })).to.deep.equal({
      ...nothing,
      name: 'Ada',
      reference: '1.5',
    });
    expect(read(schema, { name: 5 })).to.deep.equal(['missing_name', 'name']);
    expect(read(schema, { name: 'Ada', reference: true })).to.deep.equal(['invalid_parameter', 'reference']);
    expect(read(schema, { name: 'Ada', reference: {} })).to.deep.equal(['invalid_parameter', 'reference']);
    expect(read(schema, { name: 'Ada', reference: Infinity })).to.deep.equal([
      'invalid_parameter',
      'reference',
    ]);
  });
  it('takes nothing for a number or a flag but themselves', () => {
    for (const count of ['1', 1.5, 0, true, [1]])
      expect(read(schema, { name: 'Ada', count }), JSON.stringify(count)).to.deep.equal([
        'invalid_parameter',
        'count',
      ]);
    for (const on of ['true', 1, 0])
      expect(read(schema, { name: 'Ada', on })).to.deep.equal(['invalid_parameter', 'on']);
  });
  it('refuses a blank where a blank is a mistake', () => {
    expect(read(schema, { name: 'Ada', day: '' })).to.deep.equal(['invalid_date', 'day']);
    expect(read(schema, { name: 'Ada', day: '  ' })).to.deep.equal(['invalid_date', 'day']);
    expect(read(schema, { name: 'Ada', day: null })).to.deep.equal({ ...nothing, name: 'Ada' });
  });
  it('counts code points', () => {
    expect(read(schema, { name: '😀😀😀' })).to.deep.equal({ ...nothing, name: '😀😀😀' });
    expect(read(schema, { name: '😀😀😀😀' })).to.deep.equal(['missing_name', 'name']);
  });
  it('asks predicates for formats', () => {
    expect(read(schema, { name: 'Ada', even: 'ab' })).to.deep.equal({ ...nothing, name: 'Ada', even: 'ab' });
    expect(read(schema, { name: 'Ada', even: 'abc' })).to.deep.equal(['invalid_parameter', 'even']);
  });
  it('names the list, not its item', () => {
    expect(read(schema, { name: 'Ada', tags: ['x', ' y '] })).to.deep.equal({
      ...nothing,
      name: 'Ada',
      tags: ['x', 'y'],
    });
    for (const tags of [['x', 'z'], [null], [1], 'x', {}, ['']])
      expect(read(schema, { name: 'Ada', tags }), JSON.stringify(tags)).to.deep.equal([
        'invalid_events',
        'tags',
      ]);
  });
  it('says what would be right', () => {
    const message = (body: JsonObject): string => {
      const result = capture(() => readAll(schema, body));
      return 'refusal' in result ? result.refusal.message : '';
    };
    expect(message({})).to.equal('`name` is required.');
    expect(message({ name: 'Adaline' })).to.equal('`name` must be at most 3 characters.');
    expect(message({ name: 'Ada', kind: 'c' })).to.equal('`kind` must be one of a, b.');
    expect(message({ name: 'Ada', even: 'abc' })).to.equal('`even` must be of even length.');
    expect(message({ name: 'Ada', count: 'x' })).to.equal('`count` must be a whole number.');
    expect(message({ name: 'Ada', tags: ['x', 'z'] })).to.match(/^Each of `tags` must be /);
    expect(message({ name: 'Ada', tags: 'x' })).to.match(/^`tags` must be /);
  });

  describe('of a card', () => {
    const good = { recipient, message: 'Hi' };
    it('is told what is empty, and what may be a number', () => {
      const told = (body: JsonObject): string => {
        const result = capture(() => readAll(cardBody, { recipient, message: 'Hi', ...body }));
        return 'refusal' in result ? result.refusal.message : '';
      };
      expect(told({ arrive_on: ' ' })).to.equal('`arrive_on` is empty: fill it in, or leave it out.');
      expect(told({ reference: {} })).to.equal('`reference` must be a string or a number.');
      expect(told({ events: 'card.created' })).to.equal('`events` must be a list.');
    });
    it('reports the first refusal in the order of the fields, however they were sent', () => {
      expect(
        read(cardBody, { count: 0, message: '', recipient: { ...recipient, zip: 'x', state: 'Illinois' } }),
      ).to.deep.equal(['invalid_recipient', 'recipient.state']);
      expect(read(cardBody, { count: 0, arrive_on: 1, message: 7, recipient })).to.deep.equal([
        'missing_message',
        'message',
      ]);
      expect(read(cardBody, { count: 0, arrive_on: 1, message: 'x'.repeat(21), recipient })).to.deep.equal([
        'message_too_long',
        'message',
      ]);
      expect(read(cardBody, { ...good, count: 0, arrive_on: 1 })).to.deep.equal([
        'invalid_date',
        'arrive_on',
      ]);
      expect(read(cardBody, { ...good, count: 0 })).to.deep.equal(['invalid_parameter', 'count']);
    });
    it('takes an address that is none at all for a fault of the whole', () => {
      for (const wrong of ['Ada', [recipient], 1, true])
        expect(read(cardBody, { ...good, recipient: wrong })).to.deep.equal([
          'invalid_recipient',
          'recipient',
        ]);
      expect(read(cardBody, { message: 'Hi' })).to.deep.equal(['invalid_recipient', 'recipient']);
      expect(read(cardBody, { ...good, recipient: {} })).to.deep.equal([
        'invalid_recipient',
        'recipient.name',
      ]);
    });
    it('can be had field by field, each read or refused', () => {
      const fields = readFields(cardBody, {
        recipient,
        message: 'x'.repeat(21),
        arrive_on: '',
        reference: 5,
      });
      expect(fields.recipient).to.deep.equal({ value: { ...recipient, line2: null } });
      expect('refusal' in fields.message && fields.message.refusal.code).to.equal('message_too_long');
      expect('refusal' in fields.arrive_on && fields.arrive_on.refusal.code).to.equal('invalid_date');
      expect([fields.reference, fields.events]).to.deep.equal([{ value: '5' }, { value: null }]);
    });
  });

  describe('from text', () => {
    const parameters = object({
      limit: pageLimit,
      from: optional(whole({ minimum: 0 })),
      deep: optional(flag()),
    });
    const readText = (raw: Readonly<Record<string, string>>): unknown => {
      const result = capture(() => readParameters(parameters, raw));
      return 'refusal' in result ? [result.refusal.code, result.refusal.param] : result.value;
    };
    it('makes numbers and flags of it', () => {
      expect(readText({ limit: '7', from: ' 12 ', deep: 'true' })).to.deep.equal({
        limit: 7,
        from: 12,
        deep: true,
      });
      expect(readText({ limit: '', from: '', deep: '' })).to.deep.equal({
        limit: 50,
        from: null,
        deep: null,
      });
    });
    it('refuses what is neither', () => {
      expect(readText({ from: '1.5' })).to.deep.equal(['invalid_parameter', 'from']);
      expect(readText({ deep: 'yes' })).to.deep.equal(['invalid_parameter', 'deep']);
    });
  });
});
