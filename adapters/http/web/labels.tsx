import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { render } from 'preact-render-to-string';

/** The labels of the fields of a page, by their names: each field adds its own. */
export const Labels = createContext<Map<string, string> | null>(null);

/**
 * Wraps a page with refusals of its fields. Refusals name them as programs do, so the page is drawn once
 * before, and `RefusalText` knows the labels.
 */
export const WithLabels = ({ children }: { readonly children: ComponentChildren }) => {
  const page = <Labels.Provider value={new Map()}>{children}</Labels.Provider>;
  render(page);
  return page;
};

/** The text of a refusal, with fields called by their labels: `` `zip` `` becomes “ZIP”. */
export const RefusalText = ({ message }: { readonly message: string }) => {
  const labels = useContext(Labels);
  const labelled = (code: string, name: string): string => {
    const label = labels?.get(name);
    return label === undefined ? code : `“${label}”`;
  };
  return <>{message.replaceAll(/`([^`]+)`/g, labelled)}</>;
};
