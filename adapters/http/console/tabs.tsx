import { may, type Permission } from '../../../domain/permissions.js';
import { useVisit } from '../web/visit.js';
import type { Admitted } from './admit.js';
import { LastForm } from '../web/parts.js';
import type { PageName } from '../web/paths.js';

interface Tab {
  readonly name: string;
  readonly to: PageName;
  /** The permission to see it; left out if it needs no more than the others. */
  readonly needs?: Permission;
}

/** Pages that share a heading, in the order in which they are shown. */
const groups = {
  Settings: [
    { name: 'Organization', to: 'settings' },
    { name: 'Do not mail', to: 'doNotMail' },
    { name: 'Members', to: 'members', needs: 'members.manage' },
  ],
  Integrations: [
    { name: 'Keys', to: 'keys' },
    { name: 'Inbound hooks', to: 'hooks' },
    { name: 'Webhooks', to: 'webhooks' },
    { name: 'Deliveries', to: 'deliveries' },
    { name: 'Requests', to: 'requests' },
  ],
} as const satisfies Readonly<Record<string, readonly Tab[]>>;

type Group = keyof typeof groups;

interface Props<Of extends Group> extends Admitted {
  readonly of: Of;
  readonly here: (typeof groups)[Of][number]['name'];
}

/** The heading of a page of a group, with the way to the others, and what became of its last form. */
export const Tabs = <Of extends Group>({ org, role, of, here }: Props<Of>) => {
  const { url } = useVisit();
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
                <a href={url(to, { org })} aria-current={name === here ? 'page' : undefined}>
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
