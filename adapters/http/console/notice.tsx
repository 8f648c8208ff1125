interface NoticeProps {
  /** What the query says: shown only if it names one of the sentences. */
  readonly done: string;
  readonly texts: Readonly<Record<string, string>>;
}

/** What a form did, told after the redirect. */
export const Notice = ({ done, texts }: NoticeProps) =>
  Object.hasOwn(texts, done) ? (
    <p class="note" role="status">
      {texts[done]}
    </p>
  ) : null;
