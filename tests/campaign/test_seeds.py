"""The runners of the five published reports: their commands as the reports print them, and everything up to the program.

The programs and their data cannot be had here (containers, ImageNet, COCO, Cityscapes, Kinetics). A stand-in prints a log
of the program's shape, so that commands, checks, the judgement of the log and the report's own table are run through.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from perflog.campaign import commands, missing, schedule
from perflog.campaign import runner as environment
from perflog.campaign.runner import load_runner
from perflog.errors import UsageError
from tests.cli.test_cli import run
from tests.support import FIXTURES, ROOT, SHARED

RUNNERS = ROOT / "runners"
SEEDS = ("mindspore_resnet50", "ngc_maskrcnn", "ngc_mxnet_resnet50", "paddleseg_hrnet", "tsm")

#: run_single.sh of the TSM report, copied by hand: what stands between the launcher and the last options.
TSM = (
    "main.py kinetics RGB --arch resnet50 --num_segments 8 --gd 20 --lr {lr} --wd 1e-4 --lr_steps 20 40 --epochs 50 "
    "--batch-size 16 -j 16 --dropout 0.5 --consensus_type=avg --eval-freq=1 --shift --shift_div=8 "
    "--shift_place=blockres --npb -p {print_freq}"
)
MXNET = "-i 500 -e 3 -w 1 --num-examples 32000 --mode train"
#: runner, campaign file, --only of one configuration, the report's line, and the command that it comes to.
PRINTED = [
    ("tsm", "campaign", "1n1g fp32 16", "bash run_single.sh 1 1 False",
     "python3 -m torch.distributed.launch --nproc_per_node 1 " + TSM.format(lr="0.0025", print_freq=32)),
    ("tsm", "campaign", "1n1g amp 16", "bash run_single.sh 1 1 True",
     "python3 -m torch.distributed.launch --nproc_per_node 1 " + TSM.format(lr="0.0025", print_freq=32) + " --amp"),
    ("tsm", "campaign", "1n8g fp32 16", "bash run_single.sh 1 8 False",
     "python3 -m torch.distributed.launch --nproc_per_node 8 " + TSM.format(lr="0.0200", print_freq=4)),
    ("tsm", "campaign", "1n8g amp 16", "bash run_single.sh 1 8 True",
     "python3 -m torch.distributed.launch --nproc_per_node 8 " + TSM.format(lr="0.0200", print_freq=4) + " --amp"),
    ("tsm", "campaign-nodes", "4n8g amp 16", "$mpirun bash run_benchmark.sh 4 8 True",
     "python3 -m torch.distributed.launch --nnodes 4 --node_rank 0 --master_addr node1 --master_port PORT "
     "--nproc_per_node 8 " + TSM.format(lr="0.0200", print_freq=4) + " --amp"),
    ("tsm", "campaign-nodes", "4n8g fp32 16", "$mpirun bash run_benchmark.sh 4 8 False",
     "python3 -m torch.distributed.launch --nnodes 4 --node_rank 0 --master_addr node1 --master_port PORT "
     "--nproc_per_node 8 " + TSM.format(lr="0.0200", print_freq=4)),
    # pytorch_test_all.sh has these four and, for 1 device, four more
    ("ngc_maskrcnn", "campaign", "1n8g fp32 2", "bash pytorch_test_all.sh", "bash pytorch_test_base.sh 8 16 float32"),
    ("ngc_maskrcnn", "campaign", "1n8g amp 4", "bash pytorch_test_all.sh", "bash pytorch_test_base.sh 8 32 float16"),
    ("ngc_maskrcnn", "campaign", "1n1g fp32 2", "bash pytorch_test_all.sh", "bash pytorch_test_base.sh 1 2 float32"),
    ("ngc_maskrcnn", "campaign", "1n1g amp 4", "bash pytorch_test_all.sh", "bash pytorch_test_base.sh 1 4 float16"),
    ("ngc_mxnet_resnet50", "campaign", "1n8g fp32 128", "bash mxnet_test_all.sh",
     f"python benchmark.py -n 1,8 -b 128 --dtype float32 -o benchmark_report_fp32.json {MXNET}"),
    ("ngc_mxnet_resnet50", "campaign", "1n8g fp32 256", "bash mxnet_test_all.sh",
     f"python benchmark.py -n 1,8 -b 256 --dtype float32 -o benchmark_report_fp32.json {MXNET}"),
    ("ngc_mxnet_resnet50", "campaign", "1n8g amp 128", "bash mxnet_test_all.sh",
     f"python benchmark.py -n 1,8 -b 128 --dtype float16 -o benchmark_report_fp16.json {MXNET}"),
    ("ngc_mxnet_resnet50", "campaign", "1n8g amp 256", "bash mxnet_test_all.sh",
     f"python benchmark.py -n 1,8 -b 256 --dtype float16 -o benchmark_report_fp16.json {MXNET}"),
    ("paddleseg_hrnet", "campaign", "1n1g fp32 8", "./run_single_card.sh",
     "python train.py --config benchmark/hrnet.yml --iters 2000 --log_iters 10 --batch_size 8"),
    ("paddleseg_hrnet", "campaign", "1n8g fp32 8", "./run_multi_card.sh 1 8",
     "python -m paddle.distributed.launch train.py --config benchmark/hrnet.yml --iters 2000 --log_iters 10 "
     "--batch_size 8"),
    # AMP by the report's list of logs: samples_per_gpu=4, on 32 devices 2
    ("paddleseg_hrnet", "campaign-amp", "1n1g amp 4", "",
     "python train.py --config benchmark/hrnet.yml --iters 2000 --log_iters 10 --batch_size 4 --fp16"),
    ("paddleseg_hrnet", "campaign-amp", "1n8g amp 4", "",
     "python -m paddle.distributed.launch train.py --config benchmark/hrnet.yml --iters 2000 --log_iters 10 "
     "--batch_size 4 --fp16"),
    ("paddleseg_hrnet", "campaign-nodes-amp", "4n8g amp 2", "",
     "python -m paddle.distributed.launch --ips=node1,node2,node3,node4 train.py --config benchmark/hrnet.yml "
     "--iters 2000 --log_iters 10 --batch_size 2 --fp16"),
    ("paddleseg_hrnet", "campaign-nodes", "4n8g fp32 4", "./run_multi_card.sh 4 8",
     "python -m paddle.distributed.launch --ips=node1,node2,node3,node4 train.py --config benchmark/hrnet.yml "
     "--iters 2000 --log_iters 10 --batch_size 4"),
    ("mindspore_resnet50", "campaign", "1n1g fp32 128", "bash run_single_node.sh 128 fp32 5",
     'python train.py --net="resnet50" --dataset="imagenet2012" --device_target="GPU" --data_sink_steps=10 '
     '--train_steps=200 --dataset_path="/workspace/resnet/data/ImageNet/train" --batch_size=128 --dtype=fp32'),
    ("mindspore_resnet50", "campaign-fp16", "1n8g fp16 256", "bash run_single_node.sh 256 fp16 5",
     "mpirun --allow-run-as-root --prefix /usr/local/openmpi-4.0.3 --output-filename log_output "
     '--merge-stderr-to-stdout -n 8 -H localhost:8 -x NCCL_DEBUG=INFO -mca plm_rsh_args "-p " python train.py '
     '--net="resnet50" --dataset="imagenet2012" --run_distribute=True --device_target="GPU" --data_sink_steps=10 '
     '--train_steps=200 --dataset_path="/workspace/resnet/data/ImageNet/train" --batch_size=256 --dtype=fp16 '
     "--device_num=8"),
    ("mindspore_resnet50", "campaign-nodes", "2n8g fp32 128", "bash run_multi_node.sh 128 fp32 5 2",
     "mpirun --allow-run-as-root --prefix /usr/local/openmpi-4.0.3 --output-filename log_output "
     "--merge-stderr-to-stdout -n 16 -H 10.11.0.2:8,10.11.0.3:8 -x NCCL_DEBUG=INFO "
     '-mca plm_rsh_args "-p 10000" python train.py --net="resnet50" --dataset="imagenet2012" --run_distribute=True '
     '--device_target="GPU" --data_sink_steps=10 --train_steps=200 '
     '--dataset_path="/workspace/resnet/data/ImageNet/train" --batch_size=128 --dtype=fp32 --device_num=8'),
    ("mindspore_resnet50", "campaign-nodes-fp16", "2n8g fp16 256", "bash run_multi_node.sh 256 fp16 5 2",
     "mpirun --allow-run-as-root --prefix /usr/local/openmpi-4.0.3 --output-filename log_output "
     "--merge-stderr-to-stdout -n 16 -H 10.11.0.2:8,10.11.0.3:8 -x NCCL_DEBUG=INFO "
     '-mca plm_rsh_args "-p 10000" python train.py --net="resnet50" --dataset="imagenet2012" --run_distribute=True '
     '--device_target="GPU" --data_sink_steps=10 --train_steps=200 '
     '--dataset_path="/workspace/resnet/data/ImageNet/train" --batch_size=256 --dtype=fp16 --device_num=8'),
]  # fmt: skip
#: What stands before the command: the folder of the report's container, and the variables that its scripts set.
BEFORE = {
    "tsm": "cd /root/paddlejob/workspace/env_run/pytorch_TSM && ",
    "ngc_maskrcnn": "cd /workspace/object_detection && CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 ",
    "ngc_mxnet_resnet50": "cd /workspace/rn50 && ",
    "paddleseg_hrnet": "cd /workspace/PaddleSeg && CUDA_VISIBLE_DEVICES={visible} ",
    "mindspore_resnet50": "cd /workspace/resnet && CUDA_VISIBLE_DEVICES={visible} GLOG_logtostderr=1 GLOG_v=2 ",
}


@pytest.mark.parametrize(("name", "file", "configuration", "line", "command"), PRINTED)
def test_the_commands_are_the_reports(name: str, file: str, configuration: str, line: str, command: str) -> None:
    layout, precision, batch_size = configuration.split()
    only = {"devices": layout, "precision": precision, "batch_size": batch_size, "repeat": "1"}
    (entry,) = commands(schedule(RUNNERS / name / f"{file}.toml", only=only))
    assert entry.report == line
    visible = {"1n1g": "0", "1n8g": "0,1,2,3,4,5,6,7"}.get(layout, "0,1,2,3,4,5,6,7")
    first = entry.commands[0].removeprefix("[node1] ").removeprefix("[10.11.0.2] ")
    # the words that the shell makes of both: quotes differ, words must not
    assert shlex.split(first) == shlex.split(BEFORE[name].format(visible=visible) + command)
    by_node = layout == "4n8g"
    assert len(entry.commands) == (4 if by_node else 1)


@pytest.mark.parametrize(
    ("name", "devices", "hosts"),
    [
        ("paddleseg_hrnet", "2n8g", ["node1", "node2"]),
        ("mindspore_resnet50", "4n8g", ["10.11.0.2", "10.11.0.3", "10.11.0.4", "10.11.0.5"]),
        ("tsm", "2n8g", ["node1", "node2"]),
    ],
)
def test_no_line_is_called_the_reports_that_it_does_not_print(
    name: str, devices: str, hosts: list[str], tmp_path: Path
) -> None:
    """The reports have results on so many devices, or none, but no command for them."""
    text = (RUNNERS / name / "campaign-nodes.toml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("devices", "hosts"))]
    file = tmp_path / "campaign.toml"
    file.write_text("\n".join([*kept, f'devices = ["{devices}"]', f"hosts = {hosts}"]), encoding="utf-8")
    entries = commands(schedule(file))
    assert entries and all(entry.commands and entry.report == "" for entry in entries)


@pytest.mark.parametrize("name", SEEDS)
def test_without_program_and_data_one_line_says_what_to_get(name: str, tmp_path: Path) -> None:
    file = RUNNERS / name / "campaign.toml"
    done = run("run", str(file), "--logs", str(tmp_path / "logs"))
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    runner = load_runner(RUNNERS / name)
    program, data = runner.prerequisites.values()
    assert f"{name}: its program is not here: expected {program.folder}/" in lines[0]
    assert f"Get it: {program.get}." in lines[0]
    assert f'programs = {{ {name} = "FOLDER" }}' in lines[0]
    assert not (tmp_path / "logs").exists() or not list((tmp_path / "logs").rglob("*.log*"))
    dry = run("run", str(file), "--dry-run")
    assert dry.returncode == 0
    assert [line.split(" is not here")[0] for line in dry.stderr.splitlines()] == [
        f"{name}: its program", f"{name}: its data",
    ]  # fmt: skip
    assert f"Get it: {data.get}." in dry.stderr


def test_a_program_without_the_reports_changes_is_not_the_reports(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("model = torch.nn.DataParallel(model)\n")
    opts = tmp_path / "opts.py"
    opts.write_text("parser.add_argument('--amp')\n")
    campaign = tmp_path / "campaign.toml"
    text = (RUNNERS / "tsm/campaign.toml").read_text()
    campaign.write_text(f'{text}\nprograms = {{ tsm = "{tmp_path}" }}\ndata = {{ tsm = "{tmp_path}" }}\n')
    program, data = missing(schedule(campaign))
    assert "opts.py is not the report's: expected the text '--local_rank' in it" in program
    opts.write_text("parser.add_argument('--amp')\nparser.add_argument('--local_rank')\n")
    program, data = missing(schedule(campaign))
    assert "main.py is not the report's: expected the text 'DistributedDataParallel' in it" in program
    assert f"its data is not here: expected {tmp_path / 'images256'}" in data


#: By runner the seed, where its tables begin, its logs here, and the devices whose row was written by hand.
TABLES = {
    "ngc_maskrcnn": ("000", ["|卡数 | FP32(BS=2)"], "seed000", ()),
    "paddleseg_hrnet": ("001", ["|卡数 | Time2Train"], "seed001", ("16",)),
    "ngc_mxnet_resnet50": ("002", ["|卡数 | FP32(BS=128)"], "seed002", ()),
    "tsm": (
        "003", ["|卡数 | FP32 | AMP |\n|:-----:|:-----:|:-----:|\n|1", "|卡数 | FP32 | AMP |\n|:-----:|:-----:|:-----:|\n|8"],
        "seed003 -s devices=32 -s batch_size=16", (),
    ),
    "mindspore_resnet50": ("004", ["| node_num | gpu_num | samples/s | speedup |"], "seed004_ranks/logs_fp32 --lang en", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_recipe_in_a_runners_readme_gives_the_reports_table(name: str) -> None:
    if not (SHARED / "seeds").is_dir():
        pytest.skip("the seeds (../shared/seeds) are not here")
    seed, beginnings, logs, by_hand = TABLES[name]
    recipes = re.findall(r"^- Table: `perflog (table logs [^`]*)`", (RUNNERS / name / "README.md").read_text(), re.M)
    text = next((SHARED / "seeds").glob(f"{seed}_*")).read_text(encoding="utf-8")
    assert len(recipes) == len(beginnings)
    for recipe, beginning in zip(recipes, beginnings, strict=True):
        published = re.match(r"(?:\|[^\n]*\n)+", text[text.index(beginning) :])
        assert published
        done = run(*shlex.split(recipe.replace("table logs", f"table {FIXTURES}/{logs}")), "--no-notes")
        assert done.returncode == 0, done.stderr
        made, wanted = (
            [
                [cell.strip() for cell in line.split("|")[1:-1]]
                for line in table.strip().splitlines()
                if "--" not in line
            ]
            for table in (done.stdout, published[0])
        )
        assert [row for row in made if row[0] not in by_hand] == [row for row in wanted if row[0] not in by_hand]


def test_a_job_that_the_report_has_no_value_for_is_refused(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign.toml"
    text = (RUNNERS / "tsm/campaign.toml").read_text()
    campaign.write_text(text.replace('["1n1g", "1n8g"]', '["1n4g", "1n8g"]'))
    scheduled = schedule(campaign)
    assert {job.layout for job in scheduled.jobs} == {"1n8g"}
    assert set(scheduled.refused.values()) == {"its report has no lr for per_node 4 (it has one for 1, 8)"}


def test_reports_without_several_nodes_refuse_them(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign.toml"
    text = (RUNNERS / "ngc_maskrcnn/campaign.toml").read_text()
    campaign.write_text(text.replace('["1n1g", "1n8g"]', '["4n8g"]'))
    assert set(schedule(campaign).refused.values()) == {
        "the report has no command for several nodes (its 32 devices are to be done)"
    }


def test_they_are_listed_with_what_to_get_and_are_not_made() -> None:
    listed = {line.split()[0]: line for line in run("run", "--list").stdout.splitlines()[1:]}
    for name in SEEDS:
        assert listed[name].split(None, 2)[1] == "missing"
        assert listed[name].endswith(load_runner(RUNNERS / name).prerequisites["program"].get)
    with pytest.raises(UsageError, match=r"tsm wraps a program that perflog does not install\. Get it: github"):
        environment.make_environment("tsm")


#: A stand-in's file below the program's folder, the log that it prints, --only of one job, and the campaign's values
#: that the log (made from the report's table) has otherwise.
STAND_INS = {
    "ngc_maskrcnn": ("pytorch_test_base.sh", "seed000/pytorch_gpu1_amp_bs4.txt", "1n1g amp 4", {"steps": 400}),
    "ngc_mxnet_resnet50": (
        "benchmark.py", "seed002/mxnet_gpu1_gpu8_amp_bs128.txt", "1n8g amp 128", {"steps": 200},
    ),
    "paddleseg_hrnet": ("train.py", "seed001/GPUx1-bs8.log", "1n1g fp32 8", {"steps": 400}),
    "tsm": ("torch/distributed/launch.py", "seed003/final_amp_32.txt", "1n8g amp 16", {"steps": 400}),
    "mindspore_resnet50": (
        "train.py", "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log", "1n1g fp32 128",
        {"log_interval": 1},
    ),
}  # fmt: skip


def stand_in(name: str, folder: Path) -> Path:
    """A campaign file whose program is a stand-in that prints a log of the program's shape, and its words and folder."""
    script, log, _, values = STAND_INS[name]
    runner = load_runner(RUNNERS / name)
    for kind, need in runner.prerequisites.items():
        for file in need.files:
            path = folder / kind / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(need.contains.get(file, ())))
    program = folder / "program" / script
    program.parent.mkdir(parents=True, exist_ok=True)
    if script.endswith(".sh"):
        program.write_text(f'echo "$@" > words; cat {FIXTURES / log}\n')
    else:
        program.write_text(
            f"import sys\nopen('words', 'w').write(' '.join(sys.argv[1:]))\nprint(open({str(FIXTURES / log)!r}).read())\n"
        )
        with program.open("a") as opened:  # a stand-in of train.py keeps the text that its check wants
            opened.writelines(
                f"# {text}\n" for need in runner.prerequisites.values() for text in need.contains.get(script, ())
            )
    places = f'programs = {{ {name} = "{folder}/program" }}\ndata = {{ {name} = "{folder}/data" }}\n'
    places += f'pythons = {{ {name} = "{sys.executable}" }}\nlogs = "logs"\n'
    lines = (RUNNERS / name / "campaign.toml").read_text().splitlines()
    kept = [line for line in lines if line.split(" =")[0] not in values]
    campaign = folder / "campaign.toml"
    campaign.write_text("\n".join([*kept, *(f"{key} = {value}" for key, value in values.items()), places]))
    return campaign


@pytest.mark.long
@pytest.mark.parametrize("name", SEEDS)
def test_everything_but_the_program_is_run(name: str, tmp_path: Path) -> None:
    campaign = stand_in(name, tmp_path)
    layout, precision, batch_size = STAND_INS[name][2].split()
    only = [f"devices={layout}", f"precision={precision}", f"batch_size={batch_size}", "repeat=1"]
    done = run("run", str(campaign), *(word for part in only for word in ("--only", part)))
    assert done.returncode == 0, done.stderr
    (log,) = (tmp_path / "logs").rglob("*.log")
    assert log.parent.name == layout
    assert log.parent.parent.parent.parent.name == name
    words = (tmp_path / "program" / "words").read_text().split()
    (entry,) = commands(schedule(campaign, only=dict(part.split("=") for part in only)))
    assert words
    assert entry.commands[0].split()[-len(words) :] == words
