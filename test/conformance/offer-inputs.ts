import type { ToolInputs } from './describe-tool.ts'

const uri = (how: string) => ({ uri: `offers://act/${how}/text` })

/** The battery's questions to the resources of the plugin `offers`. */
export const resourceInputs: ToolInputs = {
  succeed: uri('succeed'),
  invalid: { uri: 7 },
  fail: [uri('fail'), uri('crash')],
  hang: uri('hang'),
  long: uri('answer-at-length'),
}

const act = (how: string) => ({ name: 'act', arguments: { how } })

/** The battery's questions to its prompts. */
export const promptInputs: ToolInputs = {
  succeed: act('succeed'),
  invalid: { name: 'another' },
  fail: [act('fail'), act('crash')],
  hang: act('hang'),
  long: act('answer-at-length'),
}
