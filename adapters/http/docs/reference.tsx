import type { ErrorCode } from '../../../domain/errors.js';
import { accessOf, errorsOf } from '../document/openapi.js';
import { jsonSchemaOf } from '../schema/json-schema.js';
import { sentTypesOf, success, templateOf, type Route } from '../server/route.js';
import type { Html } from '../web/prose.js';
import { errorGrid, errorLinks } from './errors.js';
import type { Group } from './groups.js';
import type { DocsPage } from './page.js';
import { Samples } from './code.js';
import { Fields, fieldsOf, type Field } from './schema-fields.js';
import { line, text } from './text.js';
import { Credentials, TryIt } from './try-it.js';

const accessIn = (route: Route): string =>
  accessOf(route).replace(/(?:an|Any) API key/, (key) => `[${key}](/docs/authentication)`);

const parametersOf = (route: Route): readonly Field[] => [
  ...fieldsOf(jsonSchemaOf(route.params)),
  ...fieldsOf(jsonSchemaOf(route.query)),
  ...Object.entries(route.headers ?? {}).map(([name, { description, schema }]) => ({
    name,
    schema: { ...schema, description },
    required: false,
  })),
];

const paragraphsOf = (description = ''): readonly string[] => description.split('\n\n').filter(Boolean);

const Folded = ({ title, children }: { readonly title: string; readonly children: Html }) => (
  <details>
    <summary>{title}</summary>
    {children}
  </details>
);

/** Refusals of every call with a credential or a body; guides explain them. */
const everywhere: ReadonlySet<ErrorCode> = new Set([
  'missing_key', 'malformed_key', 'invalid_key', 'revoked_key', 'missing_scope', 'suspended', 'rate_limited',
  'invalid_request', 'unsupported_media_type', 'body_too_large', 'invalid_json', 'invalid_body', 'invalid_parameter',
  'read_failed', 'internal_error', 'rehearsal',
]); // prettier-ignore

const Errors = ({ route }: { readonly route: Route }) => {
  const codes = errorsOf(route);
  const own = codes.filter((code) => !everywhere.has(code));
  const common = codes.filter((code) => everywhere.has(code));
  return (
    <>
      {own.length === 0 ? null : (
        <>
          <h3>Errors</h3>
          {errorGrid(`Errors of ${route.summary}`, own)}
        </>
      )}
      <Folded title="Errors of every call">{errorLinks(common)}</Folded>
    </>
  );
};

const Returned = ({ route }: { readonly route: Route }) => (
  <>
    {Object.entries(route.responses).map(([status, { schema, description }]) => {
      const fields = schema === null ? [] : fieldsOf(jsonSchemaOf(schema));
      return (
        <>
          <h3>Response {status}</h3>
          {description === success ? null : text(...paragraphsOf(description))}
          {fields.length === 0 ? null : (
            <Folded title={`${fields.length} fields`}>
              <Fields fields={fields} are="returned" />
            </Folded>
          )}
        </>
      );
    })}
  </>
);

const Operation = ({ route, baseUrl }: { readonly route: Route; readonly baseUrl: string }) => {
  const { method, path, description } = route;
  const parameters = parametersOf(route);
  return (
    <div class="operation">
      <div>
        <p class="call">
          <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>{templateOf(path)}</code>
        </p>
        {text(...paragraphsOf(description))}
        <p class="quiet">{line(accessIn(route))}</p>
        {parameters.length === 0 ? null : (
          <>
            <h3>Parameters</h3>
            <Fields fields={parameters} are="sent" />
          </>
        )}
        {route.body === null ? null : (
          <>
            <h3>Body</h3>
            <Fields fields={fieldsOf(jsonSchemaOf(route.body.schema))} are="sent" />
          </>
        )}
        <Returned route={route} />
        <Errors route={route} />
        <TryIt route={route} />
      </div>
      <Samples route={route} baseUrl={baseUrl} />
    </div>
  );
};

/** Its method and path, its purpose, and the names of its inputs. */
const wordsOf = (route: Route): string =>
  [
    `${route.method} ${templateOf(route.path)}`,
    route.description ?? '',
    ...sentTypesOf(route).flatMap(({ shape }) => Object.keys(shape)),
  ].join(' ');

/** The operations of a group, each with its text and its samples side by side. */
export const referencePage = (
  { routes, ...place }: Group,
  baseUrl: string,
  audience: DocsPage['for'],
): DocsPage => ({
  ...place,
  for: audience,
  shape: 'reference',
  lead: <Credentials for={audience} />,
  parts: routes.map((route) => ({
    id: route.id,
    title: route.summary,
    body: <Operation route={route} baseUrl={baseUrl} />,
    words: wordsOf(route),
  })),
});
