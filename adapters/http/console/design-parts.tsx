import type { OrganizationDocument } from '../../../projections/organizations.js';
import { Cover, Older, Panel, Time } from '../web/parts.js';
import { Form } from '../web/form.js';
import { useVisit } from '../web/visit.js';
import { partAfter } from './paging.js';

export const Erase = ({ design }: { readonly design: string }) => (
  <Form action="erase" fields={{ design }} kind="bad" button="Erase the picture">
    <p class="hint">
      Removes the picture within an hour, and archives the design. Its cards that are not in production are
      held, and their credits come back.
    </p>
  </Form>
);

/** For those who run the service. */
export const Withdraw = ({ design }: { readonly design: string }) => (
  <Form action="withdraw" fields={{ design }} kind="bad" button="Withdraw">
    <p class="field">
      <label for={`reason-${design}`}>Why it is withdrawn</label>
      <input id={`reason-${design}`} name="reason" required autocomplete="off" />
    </p>
    <p class="hint">
      The organization reads this. No card can be sent with the design; its cards that are not in production
      are held, and their credits come back.
    </p>
  </Form>
);

const ErasePicture = ({ design }: { readonly design: string }) => (
  <details>
    <summary>Erase the picture</summary>
    <Erase design={design} />
  </details>
);

type ArchivedProps = Pick<OrganizationDocument, 'archived'>;

/** The designs that the house has withdrawn, and what to do about their cards. */
export const Withdrawn = ({ archived }: ArchivedProps) => {
  const { url, mayDo, mayAct } = useVisit();
  const designs = archived.flatMap(({ withdrawn, ...design }) =>
    withdrawn ? { ...design, ...withdrawn } : [],
  );
  if (designs.length === 0) return null;
  return (
    <Panel id="withdrawn" title="Withdrawn">
      <p>
        The people who run the service have withdrawn these designs: no card can be sent with them.{' '}
        <a href={url('cards', {}, { status: 'blocked' })}>Their cards</a> that were not in production are
        held, not charged. Cancel them, and send them again with another design.
      </p>
      <ul class="rows">
        {designs.map(({ id, name, artwork, reason, at }) => (
          <li>
            <span>
              <strong>{name}</strong>: {reason}
              <span class="under">
                withdrawn <Time at={at} />
              </span>
            </span>
            {mayDo('organizations.manage') ? (
              <span class="end">
                <Form
                  action="reinstate"
                  fields={{ design: id }}
                  kind="second"
                  label={`Put ${name} back into use`}
                  button="Put back into use"
                />
              </span>
            ) : null}
            {artwork !== null && mayAct ? <ErasePicture design={id} /> : null}
          </li>
        ))}
      </ul>
    </Panel>
  );
};

/** How many designs a page shows of each kind. */
export const perPage = 60;

/** The archived designs whose pictures are still kept, and count: a part of them. */
export const Archived = ({ archived, after }: ArchivedProps & { readonly after: string }) => {
  const { url } = useVisit();
  const kept = archived.filter(({ artwork, withdrawn }) => artwork !== null && withdrawn === null);
  const { shown, last } = partAfter(kept, ({ id }) => id === after, perPage);
  if (shown.length === 0) return null;
  return (
    <section aria-labelledby="archived">
      <h2 id="archived">Archived, with their pictures</h2>
      <ul class="covers">
        {shown.map(({ id, name, artwork }) => (
          <li class="panel">
            <Cover title={name} artwork={artwork} />
            <strong>{name}</strong>
            <ErasePicture design={id} />
          </li>
        ))}
      </ul>
      <Older to={last && url('designs', {}, { archived: last.id })} />
    </section>
  );
};
