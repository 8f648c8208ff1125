import type { OrgContext } from './page.js';
import { paths } from './paths.js';

/** What is below Integrations, in the order in which it is shown. */
const tabs = [
  { name: 'Keys', to: paths.keys },
  { name: 'Inbound hooks', to: paths.hooks },
  { name: 'Webhooks', to: paths.webhooks },
  { name: 'Deliveries', to: paths.deliveries },
  { name: 'Requests', to: paths.requests },
] as const;

interface Props {
  readonly context: OrgContext;
  readonly here: (typeof tabs)[number]['name'];
}

/** The heading of a page below Integrations, with the way to the others. */
export const IntegrationsHead = ({ context: { url, org }, here }: Props) => (
  <>
    <h1>Integrations</h1>
    <nav aria-label="Integrations">
      <ul class="filters">
        {tabs.map(({ name, to }) => (
          <li>
            <a href={url(to, { org })} {...(name === here && { 'aria-current': 'page' as const })}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  </>
);
