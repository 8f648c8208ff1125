import { readRequest, type ShownRequest } from '../../../../application/requests/request-log.js';
import { errorCodes } from '../../../../domain/errors.js';
import { parseCardCode } from '../../../../domain/card-code.js';
import type { Actor } from '../../../../domain/events.js';
import { idOf } from '../../../../domain/ids.js';
import { subjectFrom } from '../../server/request-log.js';
import { Search } from '../../web/form.js';
import { Badge, Empty, Older, Panel, Table, Time } from '../../web/parts.js';
import { actorNames } from '../actor-name.js';
import { nullFor } from '../admit.js';
import { page, type OrgContext } from '../page.js';
import { CardLink, ErrorCodeLink } from '../card-words.js';
import { partOf } from '../paging.js';

/** A request of the organization, or for the operator any; null for others, as for one that is unknown. */
const found = async ({ deps, org, visitor }: OrgContext, id: string): Promise<ShownRequest | null> => {
  const shown = await readRequest(deps, id).catch(nullFor('not_found'));
  return visitor.kind === 'operator' || shown?.request.org === org ? shown : null;
};

export const requestsPage = page({
  path: 'requests',
  may: 'integrations.read',
  query: ['q', 'before'],
  load: async (context) => {
    const { deps, visitor, query } = context;
    const q = query('q');
    const shown = q === '' ? null : await found(context, q);
    const org = visitor.kind === 'operator' ? null : context.org;
    const nameOf = actorNames(deps, visitor, context.org);
    const whoOf = (actor: Actor | null) => (actor === null ? 'not let in' : nameOf(actor));
    const subject = shown === null ? subjectFrom(q) : null;
    const part = await partOf(query, async ({ startingAfter, limit }) =>
      subject === null ? [] : deps.requests.about(subject, org, startingAfter, limit),
    );
    const rows = await Promise.all(
      part.shown.map(async (request) => ({ request, who: await whoOf(request.actor) })),
    );
    return { q, rows, last: part.last, shown, by: await whoOf(shown?.request.actor ?? null) };
  },
  title: () => 'Requests',
  view: ({ q, rows, last, shown, by }, { url }) => {
    const code = errorCodes.find((known) => known === shown?.request.code);
    return (
      <>
        <Search
          name="q"
          label="Request"
          hint="As in x-request-id: req_…; or a card or an id, to list the requests about it"
          value={q}
        />
        {rows.length > 0 ? (
          <Table
            label="Requests about it"
            rows={rows}
            columns={{
              When: ({ request }) => <Time at={request.at} />,
              Who: ({ who }) => who,
              Request: ({ request: { id, method, route } }) => (
                <a href={url('requests', {}, { q: id })}>
                  {method} {route}
                </a>
              ),
            }}
            head="Request"
          />
        ) : shown === null ? (
          <Empty title={q === '' ? 'What happened to a request?' : 'No such request'}>
            Every response names its request in x-request-id, and every page at its foot. Requests appear here
            within a second, for as long as they are kept.
          </Empty>
        ) : (
          <Panel id="request" title={`${shown.request.method} ${shown.request.route}`}>
            <p>
              <Badge tone={shown.request.status >= 400 || shown.request.status === 0 ? 'bad' : 'good'}>
                {shown.request.status === 0 ? 'no response' : shown.request.status}
              </Badge>{' '}
              {code === undefined ? null : <ErrorCodeLink code={code} />} in {Math.round(shown.request.ms)}{' '}
              ms, by {by}, <Time at={shown.request.at} />
            </p>
            {shown.request.idempotencyKey === null ? null : (
              <p class="quiet">
                Keyed hash of the Idempotency-Key <code>{shown.request.idempotencyKey}</code>
              </p>
            )}
            {shown.events.length === 0 ? (
              <p class="quiet">It changed nothing.</p>
            ) : (
              <ol class="trail">
                {shown.events.map(({ type, stream, revision, metadata }) => {
                  const parsed = parseCardCode(idOf(stream));
                  return (
                    <li>
                      <span class="what">
                        {type}{' '}
                        {stream.startsWith('card-') && parsed.kind === 'code' ? (
                          <CardLink code={parsed.code} />
                        ) : null}
                      </span>
                      <span class="quiet">revision {revision} · </span>
                      <Time at={metadata.occurredAt} />
                    </li>
                  );
                })}
              </ol>
            )}
          </Panel>
        )}
        <Older to={last && url('requests', {}, { q, before: last.id })} />
      </>
    );
  },
});
