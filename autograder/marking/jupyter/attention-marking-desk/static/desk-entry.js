// A card in JupyterLab's launcher that opens the marking desk. Written by hand in the shape that
// JupyterLab loads, so that there is nothing to build.
"use strict";

(() => {
  const NAME = "attention-marking-desk";
  const COMMAND = "marking-desk:open";
  let shared = {};

  const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24">
    <path class="jp-icon3" fill="#616161" d="M5 3h10l4 4v14H5z M7 5v14h10V8h-3V5z"/>
    <path fill="#1976d2" d="M10.6 17.2 7.8 14.4l1.2-1.2 1.6 1.6 4.2-4.2 1.2 1.2z"/></svg>`;

  async function take(name) {
    const versions = Object.values(shared[name] || {});
    return versions.length ? (await versions[0].get())() : {};
  }

  function activate(app, launcher, palette, LabIcon) {
    const icon = LabIcon && new LabIcon({ name: `${NAME}:icon`, svgstr: ICON });
    const { baseUrl } = app.serviceManager.serverSettings;
    app.commands.addCommand(COMMAND, {
      label: "Marking desk",
      icon,
      caption: "Mark written answers, question by question",
      execute: () => { window.open(`${baseUrl}desk`, "_blank", "noopener"); },
    });
    launcher?.add({ command: COMMAND, category: "Other" });
    palette?.addItem({ command: COMMAND, category: "Grading" });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const [{ ILauncher }, { ICommandPalette }, { LabIcon }] = await Promise.all(
        ["@jupyterlab/launcher", "@jupyterlab/apputils", "@jupyterlab/ui-components"].map(take),
      );
      const plugin = {
        id: `${NAME}:plugin`,
        autoStart: true,
        optional: [ILauncher, ICommandPalette],
        activate: (app, launcher, palette) => activate(app, launcher, palette, LabIcon),
      };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
