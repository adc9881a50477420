import path from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestProject, type TestSpecification } from "vitest/node";
import { inOrder } from "./file-order.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Starts the slowest files of each project first. Keeps projects together, because workers restart for another one. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...new Set(files.map(({ project }) => project))].sort(compareProjects);
    return projects.flatMap((project) => {
      const ofProject = files.filter((file) => file.project === project);
      const byPath = new Map(ofProject.map((file) => [path.relative(root, file.moduleId), file]));
      return inOrder([...byPath.keys()], Number(project.config.maxWorkers)).flatMap((name) => byPath.get(name) ?? []);
    });
  }
}

function compareProjects(one: TestProject, other: TestProject): number {
  return one.config.sequence.groupOrder - other.config.sequence.groupOrder || one.name.localeCompare(other.name);
}
