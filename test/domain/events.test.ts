import { expect } from 'chai';
import { account } from '../../domain/account.js';
import { apiKey } from '../../domain/api-key.js';
import { audit } from '../../domain/audit.js';
import { card } from '../../domain/card.js';
import { collectionCard, handwriting } from '../../domain/catalogue.js';
import { contact } from '../../domain/contact.js';
import { ledger } from '../../domain/credits.js';
import { doNotMail } from '../../domain/do-not-mail.js';
import { hook } from '../../domain/hook.js';
import { members } from '../../domain/members.js';
import { organization } from '../../domain/organization.js';
import { purchase } from '../../domain/purchase.js';
import { webhookEndpoints } from '../../domain/webhook-endpoints.js';
import { FinalError } from '../../domain/errors.js';
import { z, ZodError } from 'zod';
import {
  events,
  holdsPersonal,
  parseEvent,
  type Aggregate,
  type EventOf,
  type RecordedEvent,
} from '../../domain/events.js';
import { categories, CommandId, Instant, streamName, Uuid } from '../../domain/ids.js';

const aggregates = [
  account, apiKey, audit, card, collectionCard, contact, doNotMail, handwriting, hook, ledger, members, organization, purchase, webhookEndpoints,
]; // prettier-ignore

const noteEvents = events({
  NoteWritten: { text: z.string(), language: z.string(), tags: z.array(z.string()) },
  NoteSigned: { by: z.string() },
});
type NoteEvent = EventOf<typeof noteEvents>;

/**
 * An aggregate in its third version: a note had neither a language nor tags at first, and a single tag in the
 * second version.
 */
const note: Aggregate<readonly NoteEvent[], NoteEvent> = {
  category: 'contact',
  schemas: noteEvents,
  schemaVersion: 3,
  upcast: (type, data, version) => {
    if (type !== 'NoteWritten') return data;
    const { tag, ...second }: { tag?: unknown } =
      version < 2 ? { ...data, language: 'en', tag: 'old' } : data;
    return { ...second, tags: [tag] };
  },
  initial: [],
  evolve: (seen, event) => [...seen, event],
};

const stored = (schemaVersion: number, type: string, data: object): RecordedEvent => ({
  id: Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000f1'),
  stream: streamName('contact', 'a-note'),
  revision: 4,
  position: 1n,
  type,
  data,
  metadata: {
    org: null,
    actor: { kind: 'system', id: null },
    requestId: null,
    correlationId: 'a-request',
    causationId: CommandId.parse('a-command'),
    schemaVersion,
    occurredAt: Instant.parse('2026-03-02T15:00:00.000Z'),
    subject: null,
    keyId: null,
    chain: 2,
    personal: null,
    hash: '',
  },
});

const read = (schemaVersion: number, type: string, data: object): NoteEvent =>
  parseEvent(note, stored(schemaVersion, type, data));

describe('the aggregates that hold personal data', () => {
  it('are those with an event that has a part `personal`', () => {
    const signed = events({ NoteWritten: { text: z.string() }, NoteSigned: { personal: z.string() } });
    expect([noteEvents, signed].map((schemas) => holdsPersonal({ schemas }))).to.deep.equal([false, true]);
  });

  it('are cards, contacts, the do-not-mail list, accounts and members', () => {
    const found = aggregates.filter(holdsPersonal).map(({ category }) => category);
    expect(found).to.have.members(['card', 'contact', 'do-not-mail', 'account', 'members']);
    expect(aggregates.map(({ category }) => category)).to.have.members(categories);
  });
});

describe('an event that was recorded with personal data', () => {
  const secretEvents = events({ NoteWritten: { text: z.string(), personal: z.string().nullable() } });
  const secret: Aggregate<null, EventOf<typeof secretEvents>> = {
    category: 'contact',
    schemas: secretEvents,
    schemaVersion: 1,
    initial: null,
    evolve: () => null,
  };

  it('reads as `personal: null` if that part is missing, and is refused if it never had one', () => {
    const event = stored(1, 'NoteWritten', { text: 'Dear Ada' });
    const stamped = { ...event, metadata: { ...event.metadata, personal: { salt: 's', digest: 'd' } } };
    expect(parseEvent(secret, stamped).data).to.deep.equal({ text: 'Dear Ada', personal: null });
    const whole = { ...stamped, data: { text: 'Dear Ada', personal: 'who' } };
    expect(parseEvent(secret, whole).data).to.deep.equal({ text: 'Dear Ada', personal: 'who' });
    expect(() => parseEvent(secret, event)).to.throw(ZodError);
  });
});

describe('an event of an older schema version', () => {
  it('is read through the upcaster, which gets its type and version', () => {
    expect(read(1, 'NoteWritten', { text: 'Dear Ada' })).to.deep.equal({
      type: 'NoteWritten',
      data: { text: 'Dear Ada', language: 'en', tags: ['old'] },
    });
    expect(read(2, 'NoteWritten', { text: 'Liebe Ada', language: 'de', tag: 'new' })).to.deep.equal({
      type: 'NoteWritten',
      data: { text: 'Liebe Ada', language: 'de', tags: ['new'] },
    });
    expect(read(1, 'NoteSigned', { by: 'Grace' })).to.deep.equal({
      type: 'NoteSigned',
      data: { by: 'Grace' },
    });
  });

  it('stays in the log as it was written', () => {
    const old = stored(1, 'NoteWritten', { text: 'Dear Ada' });
    parseEvent(note, old);
    expect(old.data).to.deep.equal({ text: 'Dear Ada' });
  });

  it('is refused if the upcaster does not make it fit the current schema', () => {
    expect(() => read(2, 'NoteWritten', { text: 'Dear Ada', tag: 'new' })).to.throw(ZodError);
  });
});

describe('an event of the current schema version', () => {
  it('is read unchanged, without the upcaster', () => {
    const data = { text: 'Dear Ada', language: 'en', tags: ['a', 'b'] };
    expect(read(3, 'NoteWritten', data)).to.deep.equal({ type: 'NoteWritten', data });
    expect(() => read(3, 'NoteWritten', { text: 'Dear Ada' })).to.throw(ZodError);
  });

  it('is refused if its type is unknown, and the error names its place in the log and what is needed', () => {
    expect(() => read(4, 'NoteBurnt', {})).to.throw(
      FinalError,
      'contact-a-note@4 holds an event NoteBurnt of schema version 4, which this version of the service does not know: ' +
        'in such streams it knows schema version 3. Start the version of the service that wrote the event, or a later one.',
    );
  });

  it('is refused like an unknown one if a newer version wrote what this one can’t read', () => {
    const data = { text: 'Dear Ada', language: 'en', tags: ['a'] };
    expect(read(4, 'NoteWritten', data)).to.deep.equal({ type: 'NoteWritten', data });
    expect(() => read(4, 'NoteWritten', { words: 'Dear Ada' })).to.throw(FinalError, 'of schema version 4');
  });
});
