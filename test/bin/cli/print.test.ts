import { expect } from 'chai';
import { readable } from '../../../bin/cli/print.js';

const shown = (answer: unknown): string => readable(JSON.stringify(answer));

describe('a response printed for people', () => {
  it('is shown field by field, with lists of objects as tables', () => {
    const card = {
      object: 'card',
      id: 'HC-7K3M9QX',
      held_reason: null,
      recipient: { name: 'Ada', line2: null, zip: '62701' },
      scopes: ['cards:send', 'cards:read'],
      steps: [
        { step: 'packed', completed_at: null },
        { step: 'stamped', completed_at: 'now' },
      ],
    };
    expect(shown(card).split('\n')).to.deep.equal([
      'id           HC-7K3M9QX',
      'held_reason  –',
      'recipient    name: Ada, zip: 62701',
      'scopes       cards:send, cards:read',
      'steps',
      '  step     completed_at',
      '  packed   –',
      '  stamped  now',
    ]);
  });
  it('is shown as a table if it is a list, and says how to see more', () => {
    const attempts = [{ error: 'first' }, { error: `${'long '.repeat(20)}last`, http_status: null }];
    const data = [{ id: 'a', object: 'x', attempts, order: { who: { kind: 'api' } }, events: [] }];
    expect(shown({ object: 'list', has_more: true, next_cursor: 'a', data }).split('\n')).to.deep.equal([
      'id  attempts  order             events  error',
      `a   2         who: (kind: api)  none    ${'long '.repeat(20)}last`,
      'More: --starting-after a',
    ]);
    expect(shown({ object: 'list', has_more: false, next_cursor: null, data: [] })).to.equal(
      'Nothing found.',
    );
  });
  it('says what an empty list means', () => {
    const endpoint = { object: 'webhook_endpoint', events: [] };
    expect(shown({ findings: [] })).to.equal('findings  none');
    expect(shown(endpoint)).to.equal('events  all');
    expect(shown({ object: 'list', data: [endpoint] })).to.equal('events\nall');
  });
  it('has a column of errors only if there are any, and says how the last attempt ended', () => {
    const data = [{ id: 'a', attempts: [{ error: null, http_status: 503 }], drop_reason: null }];
    expect(shown({ object: 'list', has_more: false, next_cursor: null, data }).split('\n')).to.deep.equal([
      'id  attempts     drop_reason',
      'a   1, last 503  –',
    ]);
  });
  it('has no control characters for the terminal', () => {
    expect(shown({ message: 'Dear Ada,\nthanks\u001b[2J\u0007' })).to.equal(
      'message  Dear Ada, ↵ thanks\ufffd[2J\ufffd',
    );
  });
});
