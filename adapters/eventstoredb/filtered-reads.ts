import type { EventStoreDBClient } from '@eventstore/db-client';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';

const { FilterOptions } = streams.ReadReq.Options;

/** How many records the server looks at together: with the usual 32 it passes over a quarter as many. */
export const searchWindow = 4_096;

type ReadAll = EventStoreDBClient['readAll'];
type Calls = Pick<StreamsClient, 'read'>;
type Creator = (calls: Calls) => unknown;
type StreamCreator = (service: unknown, name: string, creator: Creator) => unknown;

const isStreamCreator = (found: unknown): found is StreamCreator => typeof found === 'function';

const extended = <T extends object>(base: T, name: string, value: unknown): T => {
  const made: T = Object.create(base, { [name]: { value } });
  return made;
};

/**
 * A read of `$all` that leaves out, on the server, every stream whose name does not match the pattern.
 * The client has filters for subscriptions alone, so its request is given one before it is sent. It ends
 * where the log ends, however many events were asked for: leave it when there are enough. Never ask for 0.
 * (docs/engines.md#eventstoredb)
 */
export const readOurs = (
  client: EventStoreDBClient,
  pattern: string,
  ...options: Parameters<ReadAll>
): ReturnType<ReadAll> => {
  const names = new FilterOptions.Expression().setRegex(pattern);
  const filter = new FilterOptions().setMax(searchWindow).setStreamIdentifier(names);
  const create: unknown = Reflect.get(client, 'GRPCStreamCreator');
  let isFiltered = false;
  const creating: StreamCreator = (service, name, creator) => {
    if (!isStreamCreator(create)) return null;
    isFiltered = true;
    return create(service, name, (calls) =>
      creator(
        extended(calls, 'read', (...[request, ...rest]: Parameters<Calls['read']>) => {
          request.getOptions()?.setFilter(filter);
          return calls.read(request, ...rest);
        }),
      ),
    );
  };
  const read = extended(client, 'GRPCStreamCreator', creating).readAll(...options);
  if (!isFiltered) throw new TypeError('the EventStoreDB client no longer reads as this adapter expects');
  return read;
};
