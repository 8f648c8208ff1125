import { scopes } from '../../../../domain/api-key.js';
import type { ErrorCode } from '../../../../domain/errors.js';
import { errorGrid } from '../errors.js';
import { Call } from '../code.js';
import { grid, part } from '../text.js';
import type { Guide } from '../page.js';

const meanings: Readonly<Record<(typeof scopes)[number], string>> = {
  'cards:send': 'Send cards and cancel them.',
  'cards:read': 'Look cards up, list them, follow their events.',
  'contacts:write': 'Create and replace contacts.',
  'contacts:read': 'List contacts.',
  'webhooks:manage': 'Register, change, test and delete endpoints; read and retry deliveries.',
};

const refusals: readonly ErrorCode[] = [
  'missing_key',
  'malformed_key',
  'invalid_key',
  'revoked_key',
  'missing_scope',
  'suspended',
];

export const authentication: Guide = ({ baseUrl, hasConsole }) => [
  part(
    'keys',
    'Keys',
    'Send your key with every request, in the header `Authorization: Bearer <key>`. A key is `hck_` and 43 characters.',
    <Call name="account" url={`${baseUrl}/api/v1/account`} />,
    'Every sample of these pages finds the key in the variable `API_KEY`. One in Node goes into a file such as `call.mjs`, for `node call.mjs`, one in Python into `call.py`, for `python3 call.py`; neither needs anything installed.',
    `Keys are made ${hasConsole ? 'in [the console](/console?place=keys), under Integrations' : 'by the people who run the service'}, and shown once: the service keeps only their digest. Revoking one works within seconds and for good. Keep keys out of browsers, apps and repositories; there is no CORS for that reason.`,
  ),
  part(
    'scopes',
    'Scopes',
    'A key may do what its scopes say, and no more. Your account, credits, designs and handwritings can be read with any key.',
    grid(
      'Scopes',
      ['Scope', 'Allows'],
      scopes.map((scope) => [`\`${scope}\``, meanings[scope]]),
    ),
  ),
  part(
    'refused-keys',
    'When a key is refused',
    'A refused request did nothing and cost nothing.',
    errorGrid('Refusals of keys', refusals),
    'The key is checked before anything else about the request; the order is key, rate limit, scope, content type, JSON, fields. Too many failed attempts from one network address are answered with 429, and a right key from there still works.',
  ),
];
