// isola plugin …: the verbs of its author, and of the operator.
import { noun } from './command.ts'
import { adminVerbs } from './plugin-admin.ts'
import { authorVerbs } from './plugin-author.ts'

export default noun('plugin', { ...authorVerbs, ...adminVerbs })
