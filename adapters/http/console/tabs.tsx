import { may } from '../../../domain/permissions.js';
import { LastForm } from '../web/parts.js';
import type { PageName } from '../web/paths.js';
import { useVisit } from '../web/visit.js';
import type { Admitted } from './admit.js';

/** Pages that share a heading, by their names, in the order in which they are shown. */
const groups = {
  Settings: { Organization: 'settings', 'Do not mail': 'doNotMail', Members: 'members' },
  Integrations: {
    Keys: 'keys',
    'Inbound hooks': 'hooks',
    Webhooks: 'webhooks',
    Deliveries: 'deliveries',
    Requests: 'requests',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, PageName>>>>;

interface Props extends Admitted {
  readonly of: keyof typeof groups;
  readonly here: PageName;
}

/** The heading of a page of a group, with the way to the others, and what became of its last form. */
export const Tabs = ({ org, role, of, here }: Props) => {
  const { url } = useVisit();
  return (
    <>
      <h1>{of}</h1>
      <nav aria-label={of}>
        <ul class="filters">
          {Object.entries(groups[of])
            .filter(([, to]) => to !== 'members' || may(role, 'members.manage'))
            .map(([name, to]) => (
              <li>
                <a href={url(to, { org })} aria-current={to === here ? 'page' : undefined}>
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
