import { sumOf, type Calls } from './engine-calls.js';
import type { Figure } from './report.js';

/** One kind of request, how often it is made, and by how many clients. */
export interface Setting {
  readonly what: 'send' | 'send with a key' | 'lookup' | 'list' | 'cancel';
  readonly clients: number;
  readonly orgs: number;
  readonly count: number;
}

export interface Made {
  readonly setting: Setting;
  readonly calls: Calls;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Requests that were refused, or got no response. */
  readonly failed: number;
  /** Processor time of the service for each, with what it does until lists show it, in microseconds. */
  readonly processor: number;
}

const appends = /^EventStoreDB (batch )?append$/;
/** Not those of `$all`: the metrics read its head. */
const reads = /^EventStoreDB read stream$/;
const beforeAWrite = /^MongoDB (\S+ (rate_counters|idempotency_keys)|find documents_organizations_\S+)$/;
const rowsRead = /^MongoDB (find|findOne|aggregate) documents_\S+$/;

const none = { ratio: null, comparedWith: null, target: null, met: null };

const upTo = (limit: number | null, unit: string, value: number) =>
  limit === null ? {} : { target: `≤ ${limit} ${unit}`, met: value <= limit };

/** What must hold for many clients; null: it is only counted. */
const limitsOf = ({ what, clients, orgs }: Setting) => {
  const isRead = what === 'lookup' || what === 'list';
  if (clients === 1 || what === 'cancel') return { appends: null, reads: null, before: null };
  // What goes on beside it may read a row, too.
  if (isRead) return { appends: 0.1, reads: 0.1, before: 1.1 };
  const keyed = what === 'send with a key';
  return { appends: 1.3, reads: 0.1, before: orgs === 1 ? (keyed ? 0.7 : 0.5) : 2 };
};

/** The fewest sends in a second on servers, and the longest that a lone one may take, in milliseconds. */
const fewestSends = 800;
const maxSendMs = 15;

const nameOf = ({ what, clients, orgs }: Setting): string =>
  `${what}, ${clients === 1 ? 'a lone client' : `${clients} clients`}, ${orgs === 1 ? 'one organization' : `${orgs} organizations`}`;

const rateOf = ({ seconds, setting: { count } }: Made): number => count / seconds;

const speedOf = (made: Made, besideIt: Made | null): readonly Figure[] => {
  const { setting, p50, p99, processor } = made;
  const { what, clients } = setting;
  const name = nameOf(setting);
  const rate = rateOf(made);
  const isMeasured = what === 'send' && clients > 1;
  const figures: Figure[] = [
    {
      what: name,
      value: rate,
      unit: 'req/s',
      ...none,
      ...(besideIt && { ratio: rate / rateOf(besideIt), comparedWith: 'the embedded service beside it' }),
      ...(isMeasured && { target: `≥ ${fewestSends} req/s`, met: rate >= fewestSends }),
      p50,
      p99,
    },
    {
      what: `${name}: processor time of the service`,
      value: processor,
      unit: 'µs',
      ...none,
      ...(besideIt && { ratio: processor / besideIt.processor, comparedWith: 'the embedded service' }),
    },
  ];
  if (besideIt !== null)
    figures.push({
      what: `${name}: embedded, beside it`,
      value: rateOf(besideIt),
      unit: 'req/s',
      ...none,
      p50: besideIt.p50,
      p99: besideIt.p99,
    });
  if (what === 'send' && clients === 1)
    figures.push({
      what: `${name}: half of them are answered within`,
      value: p50,
      unit: 'ms',
      ...none,
      ...upTo(maxSendMs, 'ms', p50),
    });
  return figures;
};

/** How fast requests of one kind were, and what each of them asked of each server. */
export const figuresOf = (made: Made, besideIt: Made | null): readonly Figure[] => {
  const { setting, calls, failed } = made;
  const limits = limitsOf(setting);
  const isRead = setting.what === 'lookup' || setting.what === 'list';
  const row = (of: string, times: number, limit: number | null = null): Figure => ({
    what: `${nameOf(setting)}: ${of}`,
    value: times / setting.count,
    unit: 'calls',
    ...none,
    ...upTo(limit, 'calls', times / setting.count),
  });
  const mongo = sumOf(calls, /^MongoDB /);
  const before = sumOf(calls, isRead ? rowsRead : beforeAWrite);
  const counted = [
    row('EventStoreDB, appends', sumOf(calls, appends), limits.appends),
    row('EventStoreDB, streams read', sumOf(calls, reads), limits.reads),
    row(isRead ? 'MongoDB, rows read' : 'MongoDB before the response', before, limits.before),
    row('MongoDB beside it', mongo - before),
    row('RabbitMQ, messages', sumOf(calls, /^RabbitMQ publish$/)),
  ].filter(({ value, target }) => value >= 0.005 || target !== null);
  const refused: readonly Figure[] =
    failed === 0
      ? []
      : [{ what: `${nameOf(setting)}: refused or without a response`, value: failed, unit: '', ...none }];
  return [...speedOf(made, besideIt), ...counted, ...refused];
};
