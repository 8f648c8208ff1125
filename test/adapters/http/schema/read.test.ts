import { expect } from 'chai';
import { z } from 'zod';
import {
  optional,
  optionalChoice,
  optionalText,
  pageLimit,
  annotations,
  text,
} from '../../../../adapters/http/schema/fields.js';
import { atField, parseValues, parseFields, type JsonObject } from '../../../../adapters/http/schema/read.js';
import { capture, DomainError } from '../../../../domain/errors.js';
import { NumberText } from '../../../../domain/plain-object.js';
import { limitedText } from '../../../../domain/text.js';
import { cardBody } from '../../../support/http/http-routes.js';

const even = (sent: string): string => {
  if (sent.length % 2 === 1) throw new DomainError('invalid_parameter', 'Not of even length.');
  return sent.toUpperCase();
};

const read = (schema: z.ZodObject, body: JsonObject): unknown => {
  const result = capture(() => parseValues(schema, body));
  return 'refusal' in result ? [result.refusal.code, result.refusal.param] : result.value;
};

const recipient = { name: 'Ada', line1: '12 Way', state: 'IL', zip: '62701' };

describe('reading fields', () => {
  const schema = z.object({
    name: text('', undefined, { maxLength: 3, code: 'missing_name' }),
    note: optionalText(''),
    day: optionalText('', undefined, { blank: 'refused', code: 'invalid_date' }),
    reference: optionalText('', undefined, { number: 'text' }),
    even: optionalText('', undefined, { rule: even }),
    kind: optionalChoice(['a', 'b'], ''),
    count: optional(z.int().min(1)),
    on: optional(z.boolean()),
    tags: optional(z.array(z.enum(['x', 'y'])).meta(annotations({ code: 'invalid_events' }))),
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

  it('trims strings and treats null, blank and absent fields alike', () => {
    expect(read(schema, { name: ' Ada\u00a0', note: ' \t ', reference: null })).to.deep.equal({
      ...nothing,
      name: 'Ada',
    });
  });
  it('ignores unknown fields', () =>
    expect(read(schema, { name: 'Ada', other: 1, toString: 2 })).to.deep.equal({ ...nothing, name: 'Ada' }));
  it('ignores inherited properties', () =>
    expect(read(schema, Object.create({ name: 'Eve' }))).to.deep.equal(['missing_name', 'name']));
  it('accepts a number as text only in fields that allow it', () => {
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
  it('accepts only JSON numbers as numbers and only true or false as flags', () => {
    for (const count of ['1', 1.5, 0, true, [1]])
      expect(read(schema, { name: 'Ada', count }), JSON.stringify(count)).to.deep.equal([
        'invalid_parameter',
        'count',
      ]);
    for (const on of ['true', 1, 0])
      expect(read(schema, { name: 'Ada', on })).to.deep.equal(['invalid_parameter', 'on']);
  });
  it('treats a blank as an omission, whatever form the field must have', () => {
    const form = z.object({ from: optionalText('', undefined, { pattern: /^\d+$/, hint: 'a position' }) });
    expect(read(form, { from: ' ' })).to.deep.equal({ from: null });
    expect(read(form, { from: '12' })).to.deep.equal({ from: '12' });
    expect(read(form, { from: 'x' })).to.deep.equal(['invalid_parameter', 'from']);
  });
  it('refuses a blank in fields that forbid it', () => {
    expect(read(schema, { name: 'Ada', day: '' })).to.deep.equal(['invalid_date', 'day']);
    expect(read(schema, { name: 'Ada', day: '  ' })).to.deep.equal(['invalid_date', 'day']);
    expect(read(schema, { name: 'Ada', day: null })).to.deep.equal({ ...nothing, name: 'Ada' });
  });
  it('counts characters in code points', () => {
    expect(read(schema, { name: '😀😀😀' })).to.deep.equal({ ...nothing, name: '😀😀😀' });
    expect(read(schema, { name: '😀😀😀😀' })).to.deep.equal(['missing_name', 'name']);
  });
  it('applies the domain’s rules, whose refusals name the field', () => {
    expect(read(schema, { name: 'Ada', even: ' ab' })).to.deep.equal({ ...nothing, name: 'Ada', even: 'AB' });
    expect(read(schema, { name: 'Ada', even: 'abc' })).to.deep.equal(['invalid_parameter', 'even']);
  });
  it('treats text that its rule empties as a blank', () => {
    const visible = limitedText(9, () => new DomainError('invalid_parameter', 'Too long.'));
    const rule = (sent: string): string | null => visible(sent) || null;
    const ruled = z.object({
      must: text('', undefined, { code: 'missing_name', rule: rule }),
      may: optionalText('', undefined, { rule: rule }),
    });
    expect(read(ruled, { must: ' a\u200b', may: '\u200b' })).to.deep.equal({ must: 'a', may: null });
    expect(read(ruled, { must: '\u200b' })).to.deep.equal(['missing_name', 'must']);
  });
  it('passes on errors that are not refusals', () => {
    const broken = (): string => {
      throw new Error('a defect');
    };
    expect(() =>
      parseValues(z.object({ name: text('', undefined, { rule: broken }) }), { name: 'x' }),
    ).to.throw('a defect');
  });
  it('names the list in a refusal, not its item', () => {
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
  it('says in the error message what would be right', () => {
    const message = (body: JsonObject): string => {
      const result = capture(() => parseValues(schema, body));
      return 'refusal' in result ? result.refusal.message : '';
    };
    expect(message({})).to.equal('`name` is required.');
    expect(message({ name: 'Adaline' })).to.equal('`name` must be at most 3 characters long, not 7.');
    expect(message({ name: ' ' })).to.equal('`name` is empty: fill it in.');
    expect(message({ name: 'Ada', kind: 'c' })).to.equal('`kind` must be one of a, b, not `c`.');
    expect(message({ name: 'Ada', even: 'abc' })).to.equal('Not of even length.');
    expect(message({ name: 'Ada', count: 'x' })).to.equal('`count` must be a whole number from 1, not `x`.');
    for (const digits of ['1e400', '-0', '9007199254740993', '1.50'])
      expect(message({ name: 'Ada', count: new NumberText(digits) })).to.match(
        new RegExp(`a whole number from 1.*, not \`${digits}\``),
      );
    expect(message({ name: 'Ada', tags: ['x', 'z'] })).to.equal('`tags[1]` must be one of x, y, not `z`.');
    expect(message({ name: 'Ada', tags: 'x' })).to.match(/^`tags` must be /);
  });

  describe('of a card', () => {
    const good = { recipient, message: 'Hi' };
    it('refuses with messages that say what is empty and what may be a number', () => {
      const told = (body: JsonObject): string => {
        const result = capture(() => parseValues(cardBody, { recipient, message: 'Hi', ...body }));
        return 'refusal' in result ? result.refusal.message : '';
      };
      expect(told({ arrive_on: ' ' })).to.equal('`arrive_on` is empty: fill it in, or leave it out.');
      expect(told({ reference: {} })).to.equal('`reference` must be a string or a number, not an object.');
      expect(told({ events: 'card.created' })).to.equal('`events` must be a list, not a string.');
    });
    it('reports the first refusal in the order of the schema, in whatever order the fields were sent', () => {
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
    it('names the whole recipient in a refusal if it is not an object', () => {
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
    it('returns each field’s value or refusal on request', () => {
      const fields = parseFields(cardBody, {
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
    const limitOf = (limit: string): unknown => {
      const result = capture(() => parseValues(z.object({ limit: pageLimit }), { limit }));
      return 'refusal' in result ? [result.refusal.code, result.refusal.param] : result.value.limit;
    };
    it('reads a page limit', () => {
      for (const [sent, limit] of [
        ['7', 7],
        [' 12 ', 12],
        ['', 50],
        ['0', 50],
        ['200', 200],
        ['201', 200],
        ['9'.repeat(30), 200],
      ] as const)
        expect(limitOf(sent), sent).to.equal(limit);
      expect(parseValues(z.object({ limit: pageLimit }), {})).to.deep.equal({ limit: 50 });
    });
    it('refuses a page limit that is not a whole number', () => {
      for (const sent of ['1.5', '-1', '-0', 'x', '1e2', '0x10'])
        expect(limitOf(sent), sent).to.deep.equal(['invalid_parameter', 'limit']);
    });
  });
});

describe('a refusal of a rule that runs after the body was read', () => {
  const body = z.object({
    first: optionalText('', undefined, { code: 'invalid_date' }),
    second: optionalText('', undefined, {
      code: 'design_not_found',
      codes: ['design_not_found', 'no_design_available'],
    }),
    third: optionalText('', undefined, { code: 'invalid_date' }),
  });
  const paramOf = (error: unknown): unknown => {
    const located = atField(body, error);
    return located instanceof DomainError ? located.param : located;
  };

  it('names the first field that is refused with its code', () => {
    expect(paramOf(new DomainError('invalid_date', 'x'))).to.equal('first');
    expect(paramOf(new DomainError('no_design_available', 'x'))).to.equal('second');
  });
  it('keeps the field that it already names, and names none if no field has its code', () => {
    expect(paramOf(new DomainError('invalid_date', 'x', 'mine'))).to.equal('mine');
    expect(paramOf(new DomainError('no_credits', 'x'))).to.equal(null);
    const defect = new Error('a defect');
    expect(paramOf(defect)).to.equal(defect);
  });
});
