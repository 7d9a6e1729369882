"""Scripts that train on graphs, clicks and series of measurements."""

from __future__ import annotations

from tests.tools.scripts.loop import EPOCHS, Bar, Holds, Loop, script


@script(
    "xiangwang1223/neural_graph_collaborative_filtering NGCF/NGCF.py",
    "every epoch's seconds, and beside them those of its test",
    Holds.OPTION,
    EPOCHS,
)
def ngcf(loop: Loop) -> None:
    loop.print("n_users=29858, n_items=40981\nn_interactions=1027370\nusing xavier initialization")
    for epoch in range(30):
        took = sum(loop.step(0.045, samples=1024).total for _ in range(792))
        losses = f"train==[{loop.loss(30):.5f}={loop.loss(30):.5f} + 0.00000"
        if epoch % 10 != 9:
            loop.print(f"Epoch {epoch} [{took:.1f}s]: {losses}]")
            continue
        tested = loop.pause(40.0)
        scores = ", ".join(f"{name}=[0.15{epoch}, 0.34{epoch}]" for name in ("recall", "precision", "hit", "ndcg"))
        loop.print(f"Epoch {epoch} [{took:.1f}s + {tested:.1f}s]: {losses} + 0.00000], {scores}")
    loop.print(f"Best Iter=[2]@[{loop.elapsed:.1f}]\trecall=[0.15129], precision=[0.04], hit=[0.5], ndcg=[0.22]")


@script(
    "hexiangnan/neural_collaborative_filtering NeuMF.py",
    "every epoch, called an iteration: its seconds, and those of its evaluation",
    Holds.NONE,
    "an iteration of this log is an epoch of an unknown number of steps",
)
def neumf(loop: Loop) -> None:
    loop.print(
        "Load data done [6.2 s]. #user=6040, #item=3706, #train=994169, #test=6040\nInit: HR = 0.1015, NDCG = 0.0462"
    )
    for epoch in range(20):
        took = sum(loop.step(0.005, samples=256).total for _ in range(1500))
        tested = loop.pause(5.0)
        loop.print(
            f"Iteration {epoch} [{took:.1f} s]: HR = 0.6612, NDCG = 0.3912, loss = {loop.loss(0.3):.4f} [{tested:.1f} s]"
        )
    loop.print("End. Best Iteration 17:  HR = 0.6871, NDCG = 0.4123. ")


@script(
    "gusye1234/LightGCN-PyTorch code/main.py, code/Procedure.py",
    "every epoch, the seconds of drawing its samples, which is no training",
    Holds.NONE,
    "the only time is that of drawing samples",
)
def lightgcn(loop: Loop) -> None:
    loop.print(">>SEED: 2020\nload and save to checkpoints/lgn-gowalla-3-64.pth.tar")
    for epoch in range(1, 31):
        drawn = loop.pause(1.2)
        for _ in range(396):
            loop.step(0.02, samples=2048)
        if (epoch - 1) % 10 == 0:
            loop.print("\033[0;30;43m[TEST]\033[0m")
            loop.pause(8.0)
            loop.print("{'precision': array([0.041]), 'recall': array([0.133]), 'ndcg': array([0.112])}")
        loop.print(f"EPOCH[{epoch}/1000] loss{loop.loss(0.5):.3f}-|Sample:{drawn:.2f}|")


@script(
    "nnzhan/Graph-WaveNet train.py",
    "every 50th iteration without a time; every epoch's seconds of training, and of inference on a line of its own",
    Holds.OPTION,
    "how many iterations an epoch has is known to fifty",
)
def graph_wavenet(loop: Loop) -> None:
    loop.print("start training...")
    times = []
    for epoch in range(1, 9):
        took = 0.0
        for number in range(375):
            took += loop.step(0.11, samples=64).total
            if number % 50 == 0:
                loop.print(
                    f"Iter: {number:03d}, Train Loss: {loop.loss():.4f}, Train MAPE: {loop.loss(0.1):.4f}, Train RMSE: {loop.loss(6):.4f}"
                )
        loop.print(f"Epoch: {epoch:03d}, Inference Time: {loop.pause(3.0):.4f} secs")
        times.append(took)
        loop.print(
            f"Epoch: {epoch:03d}, Train Loss: {loop.loss():.4f}, Train MAPE: 0.0812, Train RMSE: 6.2100, Valid Loss: {loop.loss():.4f}, "
            f"Valid MAPE: 0.0812, Valid RMSE: 5.8100, Training Time: {took:.4f}/epoch"
        )
    loop.print(
        f"Average Training Time: {sum(times) / len(times):.4f} secs/epoch\nAverage Inference Time: 3.1213 secs\nTraining finished"
    )


@script(
    "liyaguang/DCRNN model/dcrnn_supervisor.py, lib/utils.py",
    "every epoch with a stamp, the number of steps in brackets, the seconds of training and validation together",
    Holds.OPTION,
    "the seconds of an epoch, and the stamps, hold a validation",
)
def dcrnn(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} - INFO - {text}")

    say("Total number of trainable parameters: 372353\n2024-03-11 09:00:02,412 - INFO - Start training ...")
    for epoch in range(12):
        took = sum(loop.step(0.4, samples=64).total for _ in range(375)) + loop.pause(14.0)
        say(
            f"Epoch [{epoch}/100] ({(epoch + 1) * 375}) train_mae: {loop.loss():.4f}, val_mae: {loop.loss():.4f} lr:0.010000 {took:.1f}s"
        )
        if epoch % 10 == 9:
            loop.pause(25.0)
            say("Horizon 01, MAE: 2.21, MAPE: 0.0540, RMSE: 4.11")


@script(
    "laiguokun/LSTNet main.py",
    "every epoch's seconds, a validation in them",
    Holds.OPTION,
    "only seconds an epoch, with a validation, of an unknown number of steps",
)
def lstnet(loop: Loop) -> None:
    loop.print("* number of parameters: 84321\nbegin training")
    for epoch in range(1, 31):
        began = loop.now
        for _ in range(98):
            loop.step(0.03, samples=128)
        loop.pause(0.5)
        loop.print(
            f"| end of epoch {epoch:3d} | time: {loop.now - began:5.2f}s | train_loss {loop.loss():5.4f} | valid rse {loop.loss(0.2):5.4f} | "
            f"valid rae {loop.loss(0.1):5.4f} | valid corr  {loop.about(0.9, 0.01):5.4f}"
        )


@script(
    "kang205/SASRec main.py",
    "an unnamed bar of batches for each epoch; every 20th epoch the seconds of training since the start",
    Holds.OPTION,
    "an epoch is too short for a bar's whole seconds; the seconds are those of epochs",
)
def sasrec(loop: Loop) -> None:
    loop.print("average sequence length: 6.88")
    trained = 0.0
    for epoch in range(1, 61):
        bar = Bar(loop, 47, unit="b", leave=False)
        for _ in range(47):
            trained += loop.step(0.02, samples=128).total
            bar.update()
        bar.close()
        if epoch % 20 == 0:
            loop.print("Evaluating")
            loop.pause(6.0)
            loop.print(
                f"epoch:{epoch}, time: {trained:f}(s), valid (NDCG@10: 0.3123, HR@10: 0.4912), test (NDCG@10: 0.2912, HR@10: 0.4612)"
            )


@script(
    "shenweichen/DeepCTR-Torch deepctr_torch/models/basemodel.py",
    "a bar without a total for each epoch, and its whole seconds, a validation in them",
    Holds.TWO,
    "the bar's counts and clock; the steps of an epoch are said",
)
def deepctr_torch(loop: Loop) -> None:
    loop.print("cuda:0\nTrain on 1800000 samples, validate on 200000 samples, 1758 steps per epoch")
    for epoch in (1, 2, 3):
        began = loop.now
        bar = Bar(loop, None)
        for _ in range(1758):
            loop.step(0.012, samples=1024)
            bar.update()
        bar.close()
        loop.pause(4.0)
        loop.print(
            f"Epoch {epoch}/3\n{int(loop.now - began)}s - loss:  {loop.loss(0.6):.4f} - binary_crossentropy:  0.4512 - val_auc:  0.7812"
        )


@script(
    "pyg-team/pytorch_geometric examples/gcn.py",
    "every epoch without a time; their median, of training and testing together, at the end",
    Holds.OPTION,
    "one median of epochs with their tests",
)
def pyg_gcn(loop: Loop) -> None:
    for epoch in range(1, 201):
        loop.step(0.004)
        loop.pause(0.003)
        loop.print(f"Epoch: {epoch:03d}, Loss: {loop.loss(2):.4f}, Train: 0.9512, Val: 0.7912, Test: 0.8112")
    loop.print(f"Median time per epoch: {loop.elapsed / 200:.4f}s")


@script(
    "ml-explore/mlx-examples gcn/main.py",
    "every epoch, which is one step over the whole graph, with its time in ms, a validation in it",
    Holds.OPTION,
    "that an epoch is a step, and that a validation is in its time, no line says",
)
def mlx_gcn(loop: Loop) -> None:
    for epoch in range(100):
        took = loop.step(0.006).total + loop.pause(0.001)
        loop.print(
            f"Epoch: {epoch:3d} | Train loss: {loop.loss(2):.3f} | Val loss: {loop.loss(2):.3f} | Val acc: 0.81 | Time: {1e3 * took:.3f} (ms)"
        )
    loop.print("Test loss: 0.912  |  Test acc: 0.80")


@script(
    "pyro-ppl/pyro examples/air/main.py",
    "every step, the hours since the start with two decimals, called elapsed",
    Holds.OPTION,
    "hours that no unit names: read as seconds they are 3600 times too short",
)
def pyro_air(loop: Loop) -> None:
    for number in range(1, 2501):
        loop.step(0.4, samples=64)
        loop.print(
            f"i={number}, epochs={number * 64 / 60000:.2f}, elapsed={loop.elapsed / 3600:.2f}, elbo={loop.about(600):.2f}"
        )
