import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { nearest } from '../../domain/nearest.js';
import { publicEventTypes, type PublicEventType } from '../../domain/public-events.js';
import { testPayload } from '../../domain/delivery-payload.js';
import { apiKeyIn, keyClient, NotDelivered, WrongUsage } from './client.js';
import { tellListeners, type Outcome } from './listeners.js';
import { longVerb, option, type VerbContext } from './verb.js';

export const keyOption = option('key', 'an API key; else the one in API_KEY');

/** The API key that was given, and a client with it. Throws WrongUsage if there is none. */
export const ownerOf = ({ input, environment }: VerbContext) => {
  const key = apiKeyIn(environment, input.text('key'));
  if (key === null) throw new WrongUsage('Give an API key: --key <key>, or API_KEY.');
  return { key, client: keyClient(environment, key) };
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

const isTaken = ({ url, http_status: status }: Outcome): boolean =>
  url === null || (status !== null && status >= 200 && status < 300);

/** Gives an event to the listeners of the key, and shows what came of it. Throws NotDelivered. */
const giveOut = async (context: VerbContext, event: string, body: string): Promise<void> => {
  const { key, client } = ownerOf(context);
  const outcomes = await tellListeners(key, body);
  for (const outcome of outcomes) {
    const { url, http_status: status, error, duration_ms: ms } = outcome;
    const result = url === null ? 'shown' : `forwarded to ${url}: ${status ?? error} in ${ms} ms`;
    context.print(context.json ? JSON.stringify(outcome) : `${event} ${result}`);
  }
  if (outcomes.length === 0) {
    // The key may be to blame.
    await client.call({ method: 'GET', path: '/account' });
    throw new NotDelivered(
      'noListener',
      'No webhook listen with this API key is running here that wants such events.',
    );
  }
  if (!outcomes.every(isTaken)) throw new NotDelivered('notTaken', 'Not every program responded with a 2xx.');
};

export const triggerVerbs = [
  longVerb(
    'webhook trigger <type>',
    'Send a made-up event (for example, card.mailed) to every webhook listen with this API key',
    [keyOption],
    (context) => {
      const type = eventType(context.input.argument);
      const id = `evt_test_${new SystemEntropy().bytes(12).toString('hex')}`;
      return giveOut(context, type, testPayload(id, type, new SystemClock().instant()));
    },
  ),
  longVerb(
    'webhook resend <event>',
    'Give an earlier event once more to every webhook listen with this API key',
    [keyOption],
    async (context) => {
      const path = `/events/${encodeURIComponent(context.input.argument)}`;
      const body = await ownerOf(context).client.call({ method: 'GET', path });
      await giveOut(context, context.input.argument, body);
    },
  ),
];
