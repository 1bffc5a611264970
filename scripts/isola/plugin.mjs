// isola plugin …: those of its author here, those of the operator in plugin-admin.mjs.
import { authorVerbs } from './plugin-author.mjs'

export default { noun: 'plugin', verbs: { ...authorVerbs } }
