import { nearest } from '../../domain/nearest.js';
import { publicEventTypes, type PublicEventType } from '../../domain/public-events.js';
import { apiKeyIn, keyClient, WrongUsage, type OperatorClient } from './client.js';
import type { VerbContext } from './long-verbs.js';
import { orgPath } from './verb.js';

/** The webhooks of an organization: as the operator sees them, or their owner with an API key. */
export interface Webhooks {
  readonly client: OperatorClient;
  readonly path: (below: string) => string;
  /** Null: the operator. */
  readonly key: string | null;
}

/** Throws WrongUsage if neither an API key nor an organization is named. */
export const webhooksOf = ({ input, client, environment }: VerbContext): Webhooks => {
  const key = input.text('key');
  if (key === undefined && (input.text('org') ?? '') !== '')
    return { client, path: (below) => orgPath(input, below), key: null };
  const owner = apiKeyIn(environment, key);
  if (owner === null)
    throw new WrongUsage('Give an API key: --key <key>, or API_KEY. Or name the organization: --org <id>.');
  return { client: keyClient(environment, owner), path: (below) => below, key: owner };
};

export interface ListedEndpoint {
  readonly id: string;
  readonly url: string;
}

export const endpointsOf = async ({ client, path }: Webhooks): Promise<readonly ListedEndpoint[]> => {
  const text = await client.call({ method: 'GET', path: path('/webhooks') });
  return (JSON.parse(text) as { readonly data: readonly ListedEndpoint[] }).data;
};

/** The endpoint that was asked for; null if none was. Throws WrongUsage. */
export const wantedEndpoint = async (
  webhooks: Webhooks,
  id: string | undefined,
): Promise<ListedEndpoint | null> => {
  if (id === undefined) return null;
  const found = (await endpointsOf(webhooks)).find((endpoint) => endpoint.id === id.toLowerCase());
  if (found === undefined) throw new WrongUsage(`There is no endpoint ${id}. See webhook list.`);
  return found;
};

/** A type of event, as it was typed. Throws WrongUsage. */
export const eventType = (typed: string): PublicEventType => {
  const found = publicEventTypes.find((type) => type === typed);
  if (found !== undefined) return found;
  const meant = nearest(typed, publicEventTypes);
  throw new WrongUsage(
    `There is no event type ${typed}. ${meant === null ? '' : `Did you mean ${meant}? `}The types are ${publicEventTypes.join(', ')}.`,
  );
};
