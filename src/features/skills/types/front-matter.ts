import { unquoted } from '#features/plugins/types/front-matter.ts'

/** Whether a reader that is not as lenient as `readFrontMatter` may find something else, or nothing. */
export const needsQuotes = (yaml: string): boolean =>
  yaml.split('\n').some((line) => unquoted.test(line.trimEnd()))
