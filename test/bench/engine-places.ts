import { randomBytes } from 'node:crypto';
import { connect } from 'amqplib';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { topologyOf } from '../../adapters/rabbitmq/topology.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { removeTopology } from '../support/servers/topology.js';
import { startStandIn } from './processes.js';

/** Where one service or one reader keeps its events. */
export interface EventStoreAt {
  readonly url: string;
  /** Before the names of its streams: a server that is not ours keeps them when this is over. */
  readonly prefix: string;
  readonly stop: () => void;
}

/** The servers of a run, with places of its own. */
export interface EnginePlaces {
  readonly rabbit: string;
  readonly namespace: string;
  /** The connection string of a database of that name. */
  readonly database: (name: string) => string;
  readonly eventStore: () => Promise<EventStoreAt>;
  readonly clear: () => Promise<void>;
}

/** Of the stand-in of EventStoreDB, in milliseconds: what a server with a disk takes. */
const appendTime = 2;

const describeMongo = async (url: string): Promise<string> => {
  const database = new MongoDatabase(url, new SystemClock());
  try {
    const { version, replicaSet, sessions } = await database.capabilities();
    if (!sessions) return `MongoDB: a server that knows no sessions (mongo-java-server), in memory`;
    return `MongoDB ${version}, ${replicaSet ? 'a replica set' : 'one server'}`;
  } finally {
    await database.close();
  }
};

/**
 * The servers that EVENTSTORE_URL, MONGODB_URL and RABBITMQ_URL name, and a stand-in of EventStoreDB if the
 * first is not set; null without one of the others. Says which they are, because the figures are theirs, too.
 */
export const enginePlaces = async (): Promise<EnginePlaces | null> => {
  const [events, mongo, rabbit] = ['EVENTSTORE_URL', 'MONGODB_URL', 'RABBITMQ_URL'].map(
    (name) => process.env[name] ?? '',
  ) as [string, string, string];
  if (mongo === '' || rabbit === '') {
    process.stderr.write('skipped: set MONGODB_URL and RABBITMQ_URL (npm run engines prints them)\n');
    return null;
  }
  const unique = randomBytes(6).toString('hex');
  const namespace = `bench.${unique}.`;
  const made: string[] = [];
  const database = (name: string): string => {
    const [server = '', options] = mongo.split('?');
    const url = `${server.replace(/^(mongodb(\+srv)?:\/\/[^/]+).*$/, '$1')}/bench_${unique}_${name}`;
    made.push(options === undefined ? url : `${url}?${options}`);
    return made.at(-1) ?? '';
  };
  let places = 0;
  const eventStore = async (): Promise<EventStoreAt> => {
    if (events === '') return { ...(await startStandIn(appendTime)), prefix: '' };
    return { url: events, prefix: `${namespace}${(places += 1)}.`, stop: () => undefined };
  };
  const clear = async (): Promise<void> => {
    for (const url of made) {
      const one = new MongoDatabase(url, new SystemClock());
      await one.dropAll();
      await one.close();
    }
    const model = await connect(rabbit);
    const channel = await model.createChannel();
    await removeTopology(channel, topologyOf([], namespace));
    await channel.close();
    await model.close();
  };
  process.stderr.write(
    `on EventStoreDB${events === '' ? `: a stand-in in memory, ${appendTime} ms an append` : ''}\n` +
      `on ${await describeMongo(mongo)}\n`,
  );
  return { rabbit, namespace, database, eventStore, clear };
};
