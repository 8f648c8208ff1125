import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

/** What the recommended rules of Redocly have against a document. */
export const byRedocly = async (document: object): Promise<readonly string[]> => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, absoluteRef: 'document.json', config });
  return problems.map(
    ({ severity, ruleId, message, location }) => `${severity} ${ruleId} ${location[0]?.pointer}: ${message}`,
  );
};

/** What the recommended rules of Spectral have against a document. */
export const bySpectral = async (
  document: Readonly<Record<string, unknown>>,
  kind: 'oas' | 'asyncapi',
): Promise<readonly string[]> => {
  const spectral = new spectralCore.Spectral();
  // Its own types say less of its rulesets than it takes.
  spectral.setRuleset({
    extends: [[rulesets[kind] as RulesetDefinition, 'recommended']],
    // It wants an e-mail address, and the software knows none of those who run it.
    ...(kind === 'asyncapi' && { rules: { 'asyncapi-info-contact-properties': 'off' } }),
  });
  const found = await spectral.run(document);
  return found.map(({ code, message, path }) => `${code} ${path.join('.')}: ${message}`);
};
