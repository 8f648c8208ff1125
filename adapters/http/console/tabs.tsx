import { may, type Permission } from '../../../domain/permissions.js';
import type { OrgContext } from './page.js';
import { LastForm } from '../web/parts.js';
import { paths } from '../web/paths.js';

interface Tab {
  readonly name: string;
  readonly to: string;
  /** The permission to see it; left out if it needs no more than the others. */
  readonly needs?: Permission;
}

/** Pages that share a heading, in the order in which they are shown. */
const groups = {
  Settings: [
    { name: 'Organization', to: paths.settings },
    { name: 'Do not mail', to: paths.doNotMail },
    { name: 'Members', to: paths.members, needs: 'members.manage' },
  ],
  Integrations: [
    { name: 'Keys', to: paths.keys },
    { name: 'Inbound hooks', to: paths.hooks },
    { name: 'Webhooks', to: paths.webhooks },
    { name: 'Deliveries', to: paths.deliveries },
    { name: 'Requests', to: paths.requests },
  ],
} as const satisfies Readonly<Record<string, readonly Tab[]>>;

type Group = keyof typeof groups;

interface Props<Of extends Group> {
  readonly context: OrgContext;
  readonly of: Of;
  readonly here: (typeof groups)[Of][number]['name'];
}

/** The heading of a page of a group, with the way to the others, and what became of its last form. */
export const Tabs = <Of extends Group>({ context: { url, org, role }, of, here }: Props<Of>) => {
  const tabs: readonly Tab[] = groups[of];
  return (
    <>
      <h1>{of}</h1>
      <nav aria-label={of}>
        <ul class="filters">
          {tabs
            .filter(({ needs }) => needs === undefined || may(role, needs))
            .map(({ name, to }) => (
              <li>
                <a href={url(to, { org })} {...(name === here && { 'aria-current': 'page' as const })}>
                  {name}
                </a>
              </li>
            ))}
        </ul>
      </nav>
      <LastForm />
    </>
  );
};
