interface Call {
  readonly method?: 'DELETE' | 'PATCH';
  /** JSON, or the name of a file with it. */
  readonly body?: object | string;
  readonly headers?: readonly string[];
  /** Shows the headers of the response, too. */
  readonly withHeaders?: boolean;
}

/** A call with the key in API_KEY, for a terminal. */
export const curl = (
  baseUrl: string,
  path: string,
  { method, body, headers = [], withHeaders = false }: Call = {},
): string => {
  const sent =
    body === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          ...headers.map((header) => `-H '${header}'`),
          typeof body === 'string'
            ? `-d @${body}`
            : `-d '${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''")}'`,
        ];
  return [
    `curl -s${withHeaders ? 'i' : ''}${method === undefined ? '' : ` -X ${method}`} "${baseUrl}${path}"`,
    '-H "Authorization: Bearer $API_KEY"',
    ...(body === undefined ? headers.map((header) => `-H '${header}'`) : sent),
  ].join(' \\\n  ');
};
