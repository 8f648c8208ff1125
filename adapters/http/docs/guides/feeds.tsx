import { Call } from '../code.js';
import { part } from '../text.js';
import type { Guide } from '../page.js';

export const feeds: Guide = ({ baseUrl, operators }) => [
  part(
    'asking',
    'Ask what happened',
    'The same events that webhooks tell, with the same ids and bodies, for those who would rather ask: newest first, by type or by card, for as long as the service keeps its log.',
    <Call name="ask" url={`${baseUrl}/api/v1/events?type=card.created&limit=10`} />,
  ),
  part(
    'following',
    'Follow as it happens',
    'With `Accept: text/event-stream` they come oldest first and go on as they happen. After a break, `Last-Event-ID` goes on after the event that you have handled last; an event may come again, so remember ids here, too.',
    'With `format=cloudevents` each event is a [CloudEvent](https://cloudevents.io) with the same fields and a few more, and `Accept: application/cloudevents-batch+json` makes a page a batch of them.',
    <Call name="follow" url={`${baseUrl}/api/v1/events`} headers={{ Accept: 'text/event-stream' }} streams />,
  ),
  part(
    'which',
    'Which one to choose',
    '- **Webhooks** if you have a public address: nothing to keep running, and the service tries again for you.',
    '- **The feed** behind a firewall, or to catch up after a time away.',
    '- **The list of cards** with `status=…` for a report now and then.',
    ...(operators.length === 0
      ? []
      : [
          '- **Every domain event**, for services of those who run this one: [For operators](/docs/operator#event-stream).',
        ]),
  ),
];
